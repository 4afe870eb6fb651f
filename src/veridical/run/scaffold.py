"""Learn the explainer that teaches best: students are taught by it, and it learns from how well they do (SMaT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, distributed

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.folders import FOUND, RunRecord
from veridical.core.progress import Watch
from veridical.core.storage import write_text
from veridical.core.values import Example
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.data.loader import select
from veridical.explainers import EXPLAINERS, AttentionMixture, Explainer, GradientMixture, MixtureExplainer
from veridical.masking import Engine
from veridical.models import Classifier
from veridical.models.weights import WEIGHTS_FILE
from veridical.report.plots import grid
from veridical.report.style import figure_page
from veridical.run.folder import RunFolder, is_main
from veridical.run.handle import Model, ModelHandle, versions
from veridical.run.train import test_of
from veridical.simulation import ScaffoldPlan
from veridical.simulation.lessons import Lesson, agreement, said_by
from veridical.simulation.scaffold import Scaffold
from veridical.simulation.students import new_student
from veridical.training.processes import leave_at_exit, processes_started

_STATE = "unfinished"
"""The folder of a run that is not finished, with all that its next step depends on."""

WEIGHTS_PAGE = "weights.html"
"""A page beside an explainer that draws the weights it has learned."""

_AT_ONCE = 32


@dataclass(frozen=True)
class Taught:
    """An explainer that was learned with a student: how many examples the student had, and what both came to.

    `dev` and `test` say how well the student simulates the model, the one that was taught while the explainer learned:
    accuracy, or Pearson's correlation. It says nothing of students that begin anew; for these there is the metric
    `simulability`. `gold` is the same against the labels of the test split. `cost` is the time of a step in steps of
    the student alone.
    """

    out: str
    students: int
    seed: int
    dev: float
    test: float | None
    gold: float | None
    passes: int
    in_use: int
    cost: float


@dataclass(frozen=True)
class Scaffolding:
    """All explainers that were learned, and the folder of the one that was chosen."""

    out: str
    taught: tuple[Taught, ...]
    chosen: str
    was_done: bool = False


@dataclass(frozen=True, kw_only=True)
class ScaffoldRecord(RunRecord):
    """What explainers were to learn from; then what each came to, and which one was chosen."""

    job: ClassVar[str] = "scaffold"

    model: dict[str, Any]
    data: str
    dev_data: str | None
    test_data: str | None
    students: list[int]
    seeds: list[int]
    plan: dict[str, Any]
    taught: list[dict[str, Any]] = field(default_factory=list, metadata=FOUND)
    chosen: str = field(default="", metadata=FOUND)


def scaffold(
    model: Model,
    out: str | PathLike[str],
    *,
    data: str,
    dev: str | None = None,
    test: str | None = None,
    students: Sequence[int] = (1000,),
    seeds: Sequence[int] = (0,),
    plan: ScaffoldPlan | None = None,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> Scaffolding:
    """Learn an explainer for a model by teaching students with it; its folder is a method wherever one is named.

    >>> scaffold("runs/base", "runs/smat", data="imdb", students=[500, 1000], seeds=[0, 1, 2])
    >>> explain("runs/base", texts, method="runs/smat")

    Students learn what the model says of the training split, the first so many examples of it in an order by chance;
    labels are not needed. Half of the dev split is what the explainer learns from, by the other half it stops. One
    explainer is learned for each number of students' examples and each seed, into `out/students-N/seed-S`; that of the
    most examples whose student is the median by dev goes to `out`, too.
    """
    plan, watch, engine = plan or ScaffoldPlan(), watch or Watch(), engine or Engine()
    handle, run = ModelHandle.of(model), RunFolder(out)
    sizes, seeds = sorted(set(students)), list(dict.fromkeys(seeds))
    record = ScaffoldRecord(
        model=dict(handle.description),
        data=data,
        dev_data=dev,
        test_data=test,
        students=sizes,
        seeds=seeds,
        plan=asdict(plan),
        versions=versions(),
    )
    before = run.previous(record)
    known = {(each["students"], each["seed"]): Taught(**each) for each in before.taught} if before else {}
    if before and before.done:
        EXPLAINERS.load(before.chosen)
        return Scaffolding(str(run.path), tuple(known.values()), before.chosen, was_done=True)
    _join_processes()
    school = _School.of(handle, data, dev, test, plan, max(sizes), engine, watch)
    done: list[Taught] = []
    with run.held(record):
        for size in sizes:
            for seed in seeds:
                place = run.path / f"students-{size}" / f"seed-{seed}"
                part = watch.within(f"{size} examples, seed {seed}")
                done.append(known.get((size, seed)) or school.taught(place, size, seed, part))
                run.write(replace(record, taught=[asdict(each) for each in done]))
        best = _median([each for each in done if each.students == sizes[-1]])
        if is_main():
            chosen = EXPLAINERS.load(best.out)
            EXPLAINERS.save(chosen, run.path)
            write_text(run.path / WEIGHTS_PAGE, _drawn(chosen))
        run.write(replace(record, taught=[asdict(each) for each in done], chosen=best.out, done=True))
    return Scaffolding(str(run.path), tuple(done), best.out)


@dataclass(frozen=True)
class _School:
    """What all students of a model share: what it says of examples, and what its explanations are mixed of."""

    handle: ModelHandle
    plan: ScaffoldPlan
    explainer: MixtureExplainer
    pool: tuple[Lesson, ...]
    outer: tuple[Lesson, ...]
    dev: tuple[Lesson, ...]
    test: Dataset | None
    engine: Engine

    @classmethod
    def of(
        cls,
        handle: ModelHandle,
        data: str,
        dev: str | None,
        test: str | None,
        plan: ScaffoldPlan,
        most: int,
        engine: Engine,
        watch: Watch,
    ) -> _School:
        classifier = handle.classifier
        pool, held_out = load(to_train_on(data)), load(dev or in_split(data, "dev"))
        if all(example.label is None for example in pool):
            watch.note(f"{pool.name} has no labels, and none are needed: students learn what the model says")
        if len(pool) < most:
            raise UsageError(
                f"{pool.name} has {len(pool)} examples, and students should have {most}",
                remedy="Give more data, or a smaller number to --students.",
            )
        chosen = select(pool, f"{len(pool)}@0").examples[:most]
        explainer = _new_explainer(classifier, chosen, plan)
        lessons = _lessons(classifier, explainer, chosen, plan, engine, watch.within("the training split"))
        # Drawn by chance: where classes take turns, every other example is of the same class.
        drawn = select(held_out, f"{len(held_out)}@0").examples
        others = _lessons(classifier, None, drawn, plan, engine, watch.within("the dev split"))
        halves = (others, others) if plan.share_dev else (others[::2], others[1::2])
        tests = load(test) if test else test_of(data)
        return cls(handle, plan, explainer, tuple(lessons), tuple(halves[0]), tuple(halves[1]), tests, engine)

    def taught(self, place: Path, size: int, seed: int, watch: Watch) -> Taught:
        """Learn one explainer, from where an interrupted call stopped, and save it."""
        plan = replace(self.plan, seed=seed)
        pool = self.pool[:size]
        student = new_student(self.handle.classifier, [lesson.example for lesson in pool], plan)
        _check_alike(student.classifier, pool)
        own = replace(self.explainer)  # a new one, which has learned nothing
        doing = Scaffold(student, own.mixture, plan)
        state = doing.run(pool, self.outer, self.dev, place / _STATE, watch)
        own.bind_to(self.handle.fingerprint)
        if is_main():
            EXPLAINERS.save(own, place)
            write_text(place / WEIGHTS_PAGE, _drawn(own))
            (place / _STATE / WEIGHTS_FILE).unlink(missing_ok=True)
            (place / _STATE).rmdir()
        test, gold = self._tested(student.classifier)
        in_use = int((own.weights() > 0).sum())
        return Taught(str(place), size, seed, state.best, test, gold, state.epoch, in_use, doing.cost)

    def _tested(self, student: Classifier) -> tuple[float | None, float | None]:
        """How well a student simulates the model on the test split, and how often it is right there."""
        if self.test is None:
            return None, None
        examples = self.test.examples
        mine = self.engine.predict(student, examples)
        theirs = said_by(student, self.engine.predict(self.handle.classifier, examples), soft=False)
        gold = student.gold(examples) if all(example.label is not None for example in examples) else None
        return agreement(student, mine, theirs), None if gold is None else agreement(student, mine, gold)


def _new_explainer(classifier: Classifier, examples: Sequence[Example], plan: ScaffoldPlan) -> MixtureExplainer:
    """An explainer that has learned nothing yet, for what a model shows."""
    kind = AttentionMixture if plan.explainer == "attention" else GradientMixture
    classifier.require(*kind.needs, asker=f"an explainer that mixes {plan.explainer}")
    rows = classifier.encode(list(examples[:1])).rows
    with classifier.evaluating():
        if plan.explainer == "attention":
            return AttentionMixture.of(classifier, rows, plan.weighing, plan.last_layer)
        return GradientMixture.of(classifier, rows, plan.weighing, plan.points)


def _lessons(
    classifier: Classifier,
    explainer: MixtureExplainer | None,
    examples: Sequence[Example],
    plan: ScaffoldPlan,
    engine: Engine,
    watch: Watch,
) -> list[Lesson]:
    """What the model says of examples and, with an explainer, what its explanations are mixed of."""
    logits = engine.predict(classifier, examples)
    said = said_by(classifier, logits, plan.soft)
    if explainer is None:
        return [Lesson(example, each) for example, each in zip(examples, said, strict=True)]
    count, found = watch.counter("what explanations are made of", len(examples)), []
    for begin in range(0, len(examples), _AT_ONCE):
        chosen = list(examples[begin : begin + _AT_ONCE])
        encoded = classifier.encode(chosen)
        rows = encoded.rows
        with torch.no_grad(), classifier.evaluating():
            sources = explainer.sources_of(classifier, rows, _by_logits(classifier, logits[begin:], rows.owner)).cpu()
        for at, example in enumerate(chosen):
            own = torch.nonzero(rows.owner == at)[:, 0].tolist()
            why = tuple(sources[row, :, : int(rows.lengths[row])].clone() for row in own)
            found.append(Lesson(example, said[begin + at], why))
        count(len(chosen))
    return found


def _by_logits(classifier: Classifier, logits: Tensor, owner: Tensor) -> Tensor:
    """The derivative of what the model says of each row's example by its logits: [R, C]."""
    if classifier.is_regression:
        return torch.ones(len(owner), 1)
    return torch.nn.functional.one_hot(logits.argmax(1)[owner], logits.shape[1]).float()


def _check_alike(student: Classifier, lessons: Sequence[Lesson]) -> None:
    """Refuse a student that reads other tokens than the model: shares of tokens could not be compared."""
    for begin in range(0, len(lessons), _AT_ONCE):
        chosen = lessons[begin : begin + _AT_ONCE]
        rows = student.encode([lesson.example for lesson in chosen]).rows
        own: dict[int, list[int]] = {}
        for owner, length in zip(rows.owner.tolist(), rows.lengths.tolist(), strict=True):
            own.setdefault(owner, []).append(length)
        for at, lesson in enumerate(chosen):
            if own.get(at) != [source.shape[1] for source in lesson.why or ()]:
                raise UnsupportedError(
                    f"a student that begins with a {student.family} model cuts texts into other pieces than the model, "
                    "so their attention cannot be compared",
                    example=lesson.example.id,
                    remedy="Let students begin with the model's own kind: --student same.",
                )


def _drawn(explainer: Explainer) -> str:
    """A page of the weights that an explainer has learned."""
    assert isinstance(explainer, MixtureExplainer)
    names, rows = explainer.table()
    live = int((explainer.weights() > 0).sum())
    told = f"{live} of {explainer.sources} sources are in use; one without weight counts for nothing."
    drawing = grid([name for name, _ in rows], names, [row for _, row in rows], "Weights of sources", told)
    return figure_page("What the explainer is made of", [told], drawing)


def _median(taught: Sequence[Taught]) -> Taught:
    """The one in the middle by dev; of an even number the lower of both."""
    return sorted(taught, key=lambda each: each.dev)[(len(taught) - 1) // 2]


def _join_processes() -> None:
    """Let processes that were started together, as by torchrun, know of each other."""
    if processes_started() > 1 and not distributed.is_initialized():
        leave_at_exit()
        distributed.init_process_group("gloo")
