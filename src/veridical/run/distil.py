"""Distil a slow explainer into a student: explain the data once by its teachers, then teach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from veridical.core.errors import InputError, UsageError
from veridical.core.files import read, spec_key
from veridical.core.folders import FOUND, RunRecord, looks_like_path
from veridical.core.progress import Watch
from veridical.core.values import Explanation, content_hash
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.data.loader import file_name
from veridical.explainers import EXPLAINERS, Explainer, KernelShap, PermutationShap
from veridical.masking import Engine
from veridical.masking.questions import EVERY
from veridical.models.weights import Learned
from veridical.run.explain import ExplainJob, explain_to_file
from veridical.run.folder import RunFolder
from veridical.run.handle import Model, ModelHandle, versions
from veridical.run.train import folder_of
from veridical.training.checkpoints import remove_checkpoints
from veridical.training.lessons import Lessons, lessons_of
from veridical.training.schedule import Distillation
from veridical.training.students import new_student, teach

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

    `texts` counts the texts that it learned from, `left_out` explanations that taught nothing or failed.
    """

    out: str
    dev: dict[str, float]
    texts: int
    left_out: int
    resumed_from: int
    was_done: bool = False


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

    A teacher is a method, or a file of explanations; of such a file every tenth text is kept for dev. What methods say
    of the data goes into files in the folder `lessons`, by default `out/lessons`: it is made once, and students that
    share the folder share it. `target` is what teachers explain: the predicted class, or every class, which is the
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
    record = school.record(plan)
    done = []
    taught: tuple[Lessons, Lessons] | None = None
    for seed in seeds:
        place, own = folder_of(out, seed, seeds), replace(plan, seed=seed)
        run, asked = RunFolder(place), replace(record, plan=asdict(own))
        if (before := run.previous(asked)) and before.done:
            EXPLAINERS.load(place)  # a record without its student is no finished run
            done.append(Distilled(str(place), before.dev, before.texts, before.left_out, 0, was_done=True))
            continue
        with run.held(asked):
            taught = taught or school.lessons()
            part = watch.within(f"seed {seed}") if len(seeds) > 1 else watch
            student = new_student(own, handle.classifier, taught[0], school.game())
            found = teach(student, handle.classifier, *taught, place, own, part)
            student.bind_to(handle.fingerprint)
            EXPLAINERS.save(student, place)
            texts, left_out = len(taught[0]), taught[0].left_out + taught[1].left_out
            history = list(found.history)
            run.write(replace(asked, texts=texts, left_out=left_out, dev=found.dev, history=history, done=True))
            remove_checkpoints(place)
        done.append(Distilled(str(place), found.dev, texts, left_out, found.resumed_from))
    return done


def _usual_target(handle: ModelHandle, plan: Distillation) -> str:
    """Scores have a column for each class, and most teachers tell all of them at once."""
    labels = len(handle.classifier.labels)
    return EVERY if plan.form == "scores" and 1 < labels <= _MANY else "predicted"


@dataclass(frozen=True)
class _School:
    """The teachers of a model, and what they say of training and dev data."""

    model: ModelHandle
    teachers: Sequence[str]
    data: str | None
    dev: str | None
    target: str
    folder: Path
    engine: Engine
    watch: Watch

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

    def game(self) -> dict[str, str]:
        """Which game a student learns the Shapley values of, if its only teacher estimates some."""
        methods = [EXPLAINERS.create(teacher) for teacher in self.teachers if not _is_file(teacher)]
        match methods:
            case [KernelShap() | PermutationShap() as only] if len(self.teachers) == 1:
                return {"game": only.output, "eraser": only.eraser}
        return {}

    def _spec(self, teacher: str) -> dict[str, Any]:
        return {"file": teacher} if _is_file(teacher) else EXPLAINERS.spec(_method(teacher))

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
        if self.data is None:
            raise UsageError("there is no data to explain", remedy="Name some: --data reviews.")
        method = _method(teacher)
        train, dev = load(to_train_on(self.data)), load(self.dev or in_split(self.data, "dev"))
        return self._explained(method, train, "train"), self._explained(method, dev, "dev")

    def _explained(self, method: Explainer, examples: Dataset, split: str) -> list[Explanation]:
        """All that a method says of some examples."""
        path = self.folder / f"{file_name(EXPLAINERS.written(method))}-{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = self.watch.within(f"lessons for {split}")
        explain_to_file(self.model, examples, method, path, target=self.target, engine=self.engine, watch=part)
        key = ExplainJob.of(self.model, method, self.target, self.engine, examples.name).key
        wanted = {example.id for example in examples}
        return [made for made in read(path) if made.example_id in wanted and spec_key(made.spec) == key]

    def _from_file(self, path: str) -> tuple[list[Explanation], list[Explanation]]:
        """The explanations of a file, every tenth text of which is kept for dev."""
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
        kept = {made.example_id: int(content_hash(made.inputs), 16) % _HELD_OUT == 0 for made in explanations}
        train = [made for made in explanations if not kept[made.example_id]]
        return train, [made for made in explanations if kept[made.example_id]]


def _method(teacher: str) -> Explainer:
    made = EXPLAINERS.create(teacher)
    if isinstance(made, Learned) and made.learned_by and made.is_new:
        raise UsageError(
            f"{teacher} has learned nothing, and cannot teach", remedy="Name its folder, or another method."
        )
    return made


def _is_file(teacher: str) -> bool:
    return teacher.endswith(_FILES) or (looks_like_path(teacher) and Path(teacher).is_file())
