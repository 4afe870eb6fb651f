"""Distil a slow explainer into a student: explain the data once by its teachers, then teach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, cast

from veridical.core.errors import InputError, UsageError
from veridical.core.files import read, spec_key
from veridical.core.folders import FOUND, LATER, RunRecord, looks_like_path
from veridical.core.progress import Watch
from veridical.core.values import Example, Explanation, content_hash
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.data.loader import file_name
from veridical.explainers import EXPLAINERS, Explainer
from veridical.masking import Engine
from veridical.masking.questions import EVERY
from veridical.run.explain import ExplainJob, explain_to_file
from veridical.run.folder import RunFolder
from veridical.run.handle import Model, ModelHandle, versions, with_model
from veridical.run.train import folder_of
from veridical.training.checkpoints import remove_checkpoints
from veridical.training.lessons import Lessons, lessons_of
from veridical.training.schedule import Distillation
from veridical.training.students import check_plan, new_student, teach

LESSONS = "lessons"
"""The folder of a run that holds what teachers said."""

_FILES = (".parquet", ".jsonl")

_HELD_OUT = 10
"""One of so many texts of a teacher's file is kept for dev."""

_MANY = 10
"""With more classes than this, teachers explain the predicted one only."""


@dataclass(frozen=True)
class Distilled:
    """A finished student: where it is, its figures on dev lessons, and whether it was already there.

    `texts` counts the texts that it learned from, `left_out` explanations that taught nothing, as all of their scores
    are 0. `failures` says of texts that a teacher could not explain how many they are, and why the first could not.
    """

    out: str
    dev: dict[str, float]
    texts: int
    left_out: int
    resumed_from: int
    was_done: bool = False
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DistilRecord(RunRecord):
    """What a student was to learn, from whom, and how; then its figures."""

    job: ClassVar[str] = "distil"

    model: dict[str, Any]
    data: str | None
    dev_data: str | None
    teachers: list[dict[str, Any]]
    target: str
    plan: dict[str, Any]
    texts: int = field(default=0, metadata=FOUND)
    left_out: int = field(default=0, metadata=FOUND)
    failures: list[str] = field(default_factory=list, metadata=FOUND | LATER)
    dev: dict[str, float] = field(default_factory=dict, metadata=FOUND)
    history: list[dict[str, float]] = field(default_factory=list, metadata=FOUND)


def distil(
    model: Model,
    teachers: str | Sequence[str],
    out: str | PathLike[str],
    *,
    data: str | None = None,
    dev: str | None = None,
    target: str | None = None,
    plan: Distillation | None = None,
    seeds: Sequence[int] = (0,),
    lessons: str | PathLike[str] | None = None,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> list[Distilled]:
    """Teach a student for each seed what some methods say of a model's decisions, and save it as a method.

    >>> distil("runs/base", "kernel-shap", "runs/l2e", data="reviews")
    >>> explain("runs/base", texts, method="runs/l2e")

    A teacher is a method, or a file of explanations. Of a file every tenth text is kept for dev; with `data` the
    lessons are what it says of these texts, and with `dev` it is judged by what the file says of those. What methods
    say of the data goes into files in the folder `lessons`, by default `out/lessons`: it is made once, and students
    that share the folder share it. `target` is what teachers explain: the predicted class, or every class, which is the
    default for scores of a few classes. One seed goes to `out`, several to `out/seed-N`.
    """
    plan, watch, engine = plan or Distillation(), watch or Watch(), engine or Engine()
    handle = ModelHandle.of(model)
    wanted = [teachers] if isinstance(teachers, str) else list(teachers)
    if not wanted:
        raise UsageError("there is no teacher", remedy="Name a method, such as kernel-shap, or a file of explanations.")
    target = target or _usual_target(handle, plan)
    folder = Path(lessons) if lessons is not None else Path(out) / LESSONS
    school = _School(handle, wanted, data, dev, target, folder, engine, watch)
    check_plan(plan, handle.classifier, school.first)
    record = school.record(plan)
    done = []
    taught: tuple[Lessons, Lessons] | None = None
    for seed in seeds:
        place, own = folder_of(out, seed, seeds), replace(plan, seed=seed)
        run, asked = RunFolder(place, beside=(LESSONS,)), replace(record, plan=asdict(own))
        if (before := run.previous(asked)) and before.done:
            EXPLAINERS.load(place)  # a record without its student is no finished run
            told = (before.dev, before.texts, before.left_out, 0)
            done.append(Distilled(str(place), *told, was_done=True, failures=tuple(before.failures)))
            continue
        with run.held(asked):
            taught = taught or school.lessons()
            part = watch.within(f"seed {seed}") if len(seeds) > 1 else watch
            student = new_student(own, handle.classifier, taught[0])
            found = teach(student, handle.classifier, *taught, place, own, part)
            student.bind_to(handle.fingerprint)
            EXPLAINERS.save(student, place)
            texts, left_out = len(taught[0]), taught[0].left_out + taught[1].left_out
            run.write(
                replace(
                    asked,
                    texts=texts,
                    left_out=left_out,
                    failures=school.failures,
                    dev=found.dev,
                    history=list(found.history),
                    done=True,
                )
            )
            remove_checkpoints(place)
        told = (found.dev, texts, left_out, found.resumed_from)
        done.append(Distilled(str(place), *told, failures=tuple(school.failures)))
    return done


def _usual_target(handle: ModelHandle, plan: Distillation) -> str:
    """Scores have a column for each class, and most teachers tell all of them at once."""
    labels = len(handle.classifier.labels)
    return EVERY if plan.form == "scores" and 1 < labels <= _MANY else "predicted"


@dataclass(frozen=True)
class _School:
    """The teachers of a model, and what they say of training and dev data.

    `failures` has a sentence for each teacher and split of which some texts could not be explained.
    """

    model: ModelHandle
    teachers: Sequence[str]
    data: str | None
    dev: str | None
    target: str
    folder: Path
    engine: Engine
    watch: Watch
    failures: list[str] = field(default_factory=list)

    def record(self, plan: Distillation) -> DistilRecord:
        """What makes this distilling what it is."""
        return DistilRecord(
            model=dict(self.model.description),
            data=self.data,
            dev_data=self.dev,
            teachers=[self._spec(teacher) for teacher in self.teachers],
            target=self.target,
            plan=asdict(plan),
            versions=versions(),
        )

    @property
    def first(self) -> Example:
        """One example that will be explained."""
        if all(_is_file(teacher) for teacher in self.teachers):
            made = self._file(self.teachers[0])[0]
            return Example(made.example_id, made.inputs)
        for teacher in self.teachers:
            if not _is_file(teacher):
                self.model.require(self._method(teacher))
        return self._train[0]

    @cached_property
    def _train(self) -> Dataset:
        if self.data is None:
            raise UsageError("there is no data to explain", remedy="Name some: --data reviews.")
        return _filled(load(to_train_on(self.data)), "--data")

    @cached_property
    def _dev(self) -> Dataset:
        assert self.dev or self.data
        return _filled(load(self.dev or in_split(cast("str", self.data), "dev")), "--dev")

    def _spec(self, teacher: str) -> dict[str, Any]:
        return {"file": teacher} if _is_file(teacher) else EXPLAINERS.spec(self._method(teacher))

    def _method(self, teacher: str) -> Explainer:
        return with_model(self.model.classifier, EXPLAINERS.create(teacher))

    def lessons(self) -> tuple[Lessons, Lessons]:
        """What there is to learn, and to be judged by; of an example that a teacher failed at there is nothing."""
        labels = self.model.classifier.labels
        taught, held_out = [], []
        for teacher in self.teachers:
            mine, other = self._from_file(teacher) if _is_file(teacher) else self._by_method(teacher)
            taught.append(mine)
            held_out.append(other)
        lessons = lessons_of(taught, labels)
        return lessons, lessons_of(held_out, labels, lessons.sizes)

    def _by_method(self, teacher: str) -> tuple[list[Explanation], list[Explanation]]:
        method = self._method(teacher)
        return self._explained(method, self._train, "train"), self._explained(method, self._dev, "dev")

    def _explained(self, method: Explainer, examples: Dataset, split: str) -> list[Explanation]:
        """All that a method says of some examples."""
        name = EXPLAINERS.written(method)
        path = self.folder / f"{file_name(name)}-{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = self.watch.within(f"lessons for {split}")
        said = explain_to_file(self.model, examples, method, path, target=self.target, engine=self.engine, watch=part)
        if said.failures:
            first = said.failures[0]
            told = f"{name} could not explain {len(said.failures)} of {len(examples)} {split} texts; the first is "
            self.failures.append(f"{told}{first.example_id}: {first.error.problem}")
        if said.failures and len(said.failures) == len(examples):
            raise InputError(self.failures[-1], remedy="Mend these texts, or choose another teacher.")
        key = ExplainJob.of(self.model, method, self.target, self.engine, examples.name).key
        wanted = {example.id for example in examples}
        return [made for made in read(path) if made.example_id in wanted and spec_key(made.spec) == key]

    def _file(self, path: str) -> list[Explanation]:
        """The explanations of a file, all of them of this model."""
        explanations = list(read(path))
        for made in explanations:
            told = made.spec.get("model")
            known = told.get("fingerprint", told.get("name")) if isinstance(told, Mapping) else None
            if known != self.model.fingerprint:
                raise UsageError(
                    f"{path} explains the model {known}, and this is the model {self.model.fingerprint}",
                    example=made.example_id,
                    remedy="Explain this model, or distil from the one that was explained.",
                )
        if not explanations:
            raise InputError(f"{path} has no explanations", remedy="Explain some data into it first.")
        return explanations

    def _from_file(self, path: str) -> tuple[list[Explanation], list[Explanation]]:
        """What a file says of training and of dev texts: every tenth is kept for dev unless data tells them apart."""
        explanations = self._file(path)
        said = {id(made): content_hash(made.inputs) for made in explanations}
        dev = self._held_out(said.values())
        train = set(said.values()) - dev if self.data is None else {content_hash(each.inputs) for each in self._train}
        taught, held_out = ([made for made in explanations if said[id(made)] in part] for part in (train, dev))
        texts = len(set(said.values()))
        if not taught:
            raise InputError(
                f"{path} explains {texts} texts, and none to learn from"
                + (" is left beside those for dev" if self.data is None else f": none is of {self.data}"),
                remedy="Explain more texts into it, or name the data that it explains.",
            )
        if not held_out:
            told = f"none of {self._dev.name}" if self.dev or self.data else "none fell into the tenth kept for dev"
            raise InputError(
                f"{path} explains {texts} texts, and {told}, by which the best student is chosen",
                remedy="Explain more texts into it, or name some that it explains: --dev DATA.",
            )
        return taught, held_out

    def _held_out(self, texts: Iterable[str]) -> set[str]:
        """Which texts, by their hashes, are for dev."""
        if self.dev or self.data:
            return {content_hash(each.inputs) for each in self._dev}
        return {text for text in texts if int(text, 16) % _HELD_OUT == 0}


def _filled(data: Dataset, option: str) -> Dataset:
    """Data that has some texts."""
    if not len(data):
        raise InputError(f"{data.name} has no texts", remedy=f"Name other data: {option}.")
    return data


def _is_file(teacher: str) -> bool:
    return teacher.endswith(_FILES) or (looks_like_path(teacher) and Path(teacher).is_file())
