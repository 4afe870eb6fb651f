"""Measuring in portions, and counting what that takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import torch
from torch import Tensor

from veridical.audits.explanations import Place, Reasons, Targets
from veridical.audits.plan import MeasuringTask, digest
from veridical.audits.record import FLOOR, Measurement, Order
from veridical.audits.store import Journal
from veridical.core.errors import InputError, ModelError, VeridicalError
from veridical.core.progress import Watch
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking import Case, Cost, Engine
from veridical.masking.erasure import places
from veridical.metrics import CorpusMetric, Measured, Metric, measure
from veridical.models import Classifier
from veridical.run.job import Failure, Job, Result, charge, serially, while_it_answers

T = TypeVar("T")

_OTHERWISE = "asked again, the model does not choose this target any more"
"""The last digits of an output may be others beside other texts, and a decision may depend on them."""


_LONG = 90.0
"""From so many seconds on, the time that judging will take is said before it starts."""


@dataclass
class MeasuredExample:
    """What was measured of an example, by key: its rows, and the errors of those that cannot be measured.

    `steps` are what the points of the metrics' curves stand for.
    """

    rows: dict[str, Measurement] = field(default_factory=dict)
    errors: dict[str, VeridicalError] = field(default_factory=dict)
    steps: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuringJob(Job[MeasuredExample]):
    """Do some tasks for examples; what is `known` already, by its key, is not measured again.

    `targets` are the classes that are judged, by example.
    """

    tasks: tuple[MeasuringTask, ...]
    targets: Targets
    known: Container[str]

    def passes(self, units: int) -> int:
        """The most model inputs that judging an example of so many units takes."""
        return sum(self.passes_by_metric(units).values())

    def passes_by_metric(self, units: int) -> Counter[str]:
        """The same for each metric."""
        found = Counter[str]()
        for task in self.tasks:
            metric = cast("Metric", task.metric)
            if task.name not in found:
                found[task.name] = metric.questions_once(units)
            found[task.name] += task.draws * metric.questions(units)
        return found

    def expected(self, examples: Sequence[Example]) -> Counter[str]:
        """About how many seconds of all cores each metric takes for some examples, at most: questions may be shared."""
        classifier, cores = self.model.classifier, torch.get_num_threads()
        found = Counter[str]()
        for example in examples:
            positions = classifier.positions(example)
            for name, passes in self.passes_by_metric(positions).items():
                found[name] += passes * classifier.seconds(positions) / cores  # type: ignore[assignment]
        return found

    def documents(self, examples: Sequence[Example]) -> list[Place]:
        """Each example with each of its targets."""
        return [(example.id, target) for example in examples for target in self.targets[example.id]]

    def missing(self, examples: Sequence[Example]) -> list[MeasuringTask]:
        """The tasks that have to be done for some examples."""
        documents = self.documents(examples)
        return [task for task in self.tasks if any(key not in self.known for key in task.keys(documents).values())]

    def todo(self, examples: Sequence[Example]) -> list[str]:
        """The keys of all that these tasks measure."""
        documents = self.documents(examples)
        return [key for task in self.missing(examples) for key in task.keys(documents).values()]

    def work(self, examples: list[Example], engine: Engine) -> list[MeasuredExample]:
        found = {example.id: MeasuredExample() for example in examples}
        if missing := self.missing(examples):
            case = Case.bind(self.model.classifier, examples, target=self.target, engine=engine)
            scores = {task.method.name: _draws(task, case) for task in missing}
            for task in missing:
                self._measure(task, case, scores[task.method.name], found)
        return list(found.values())

    def _measure(
        self, task: MeasuringTask, case: Case, scores: Sequence[Tensor], found: dict[str, MeasuredExample]
    ) -> None:
        documents = entries(case)
        keys = task.keys(documents)
        ordered = [backwards(each, case.live) if task.order == "reversed" else each for each in scores]
        try:
            metric = cast("Metric", task.metric)
            found_of = [measure(metric, case, each) for each in ordered]
            measured = metric.mean(found_of) if task.draws > 1 else found_of[0]
        except (InputError, ModelError) as error:
            if len(found) > 1:  # which of them cannot be measured is found by halves
                raise
            if isinstance(error, ModelError):
                # It may be this question only. A model that does not answer about the whole text either is gone, and
                # raises: each of the other tasks would have to wait for it.
                case.engine.predict(case.classifier, case.batch.examples)
            found[case.batch.examples[0].id].errors |= dict.fromkeys(keys.values(), error)
            return
        for place, row in task.rows(documents, measured).items():
            mine = found[place[0]]
            mine.rows[keys[place]] = row
            mine.steps[task.name] = measured.steps


def _draws(task: MeasuringTask, case: Case) -> list[Tensor]:
    """The scores of a method, [B, U]; of the floor several, the first of which is the one that was written down."""
    more = [EXPLAINERS.create(f"{FLOOR}(seed={seed})") for seed in range(1, task.draws)]
    return [task.method.scores(case), *(each.scores(case).values for each in more)]


@dataclass(frozen=True)
class Counting:
    """Does portions one after the other, and writes down what each has cost before anybody keeps what came of it.

    So counts survive a kill. Killed in between, a portion is done again, and counts once: it has the same key.
    """

    journal: Journal
    key: Callable[[list[Example]], str]

    def __call__(self, job: Job[T], portions: Iterable[list[Example]], watch: Watch) -> Iterator[Result[T]]:
        several = list(portions)
        for portion, result in zip(several, serially(job, several, watch), strict=True):
            spend(self.journal, self.key(portion), result.cost)
            yield result


def spend(journal: Journal, key: str, cost: Cost) -> None:
    """Write down what something cost, under a key of its own."""
    journal.spend(key, queries=cost.queries, forwards=cost.forwards)


def entries(case: Case) -> list[Place]:
    """What a case is about: its examples, each with the name of a target."""
    names = map(case.classifier.target_name, case.targets.tolist())
    return [(example.id, name) for example, name in zip(case.batch.examples, names, strict=True)]


def measure_documents(
    job: MeasuringJob, examples: Sequence[Example], journal: Journal, *, engine: Engine, watch: Watch, reasons: Reasons
) -> list[Measurement]:
    """Do the tasks of a job that the journal does not have yet, and give all rows: example by example, task by task.

    Why some rows cannot be is added to the `reasons`.
    """
    count = watch.counter("judging", len(examples))
    todo = [portion for portion in job.portions(examples) if job.missing(portion)]
    count(len(examples) - sum(map(len, todo)))
    if told := _long(job.expected([example for portion in todo for example in portion])):
        watch.note(told, is_result=True)
    errors: dict[str, VeridicalError] = {}
    results = Counting(journal, lambda portion: digest(*job.todo(portion)))(job, todo, watch)
    judged = len(examples) - sum(map(len, todo))
    answered = while_it_answers(results, lambda: f"{judged:,} of {len(examples):,} are judged, in {journal.folder}")
    for portion, result in zip(todo, answered, strict=True):
        charge(engine.cost, result.cost)
        errors |= _keep(job, portion, result, journal)
        judged += len(result.made)
        count(len(portion))
    known = journal.failures | {key: error.reason for key, error in errors.items()}
    rows = [row for example in examples for row in _rows(job, example, journal, known, reasons)]
    return in_relation(rows, {task.name: cast("Metric", task.metric) for task in job.tasks})


def _long(expected: Counter[str]) -> str:
    """How long judging will take, if a person may want to know that before; empty for a short time."""
    seconds = expected.total()
    if seconds < _LONG:
        return ""
    (name, most), *_ = expected.most_common(1)
    part = f", {most / seconds:.0%} of it {name}" if len(expected) > 1 else ""
    return f"at most about {seconds / 60:.0f} minutes{part}"


def in_relation(rows: Sequence[Measurement], metrics: Mapping[str, Metric]) -> list[Measurement]:
    """The rows of all methods and orders, after each metric has seen all of its own.

    The journal has rows as they were before, which depend on nothing but themselves: so one more method is measured
    alone, and all values are put in relation anew.
    """
    found = {(row.metric, row.method, row.order, row.document): row for row in rows}
    documents = list(dict.fromkeys(row.document for row in rows))
    for name, metric in metrics.items():
        orders = list(dict.fromkeys(key[:3] for key in found if key[0] == name))
        before = [_as_measured([found.get((*order, each)) for each in documents]) for order in orders]
        for order, was, now in zip(orders, before, metric.together(before), strict=True):
            if now is not was:
                found |= _changed({at: found.get((*order, each)) for at, each in enumerate(documents)}, now)
    return list(found.values())


def _as_measured(rows: Sequence[Measurement | None]) -> Measured:
    """Values and details of an order, by document; NaN where there are none."""
    names = dict.fromkeys(name for row in rows if row for name in row.details)
    return Measured(
        values=torch.tensor([row.value if row else torch.nan for row in rows], dtype=torch.double),
        details={
            name: torch.tensor([row.details[name] if row else torch.nan for row in rows], dtype=torch.double)
            for name in names
        },
    )


def _changed(rows: Mapping[int, Measurement | None], now: Measured) -> dict[tuple[str, str, Order, str], Measurement]:
    """The rows of an order, by their place among the documents, with other values and details."""
    return {
        (row.metric, row.method, row.order, row.document): replace(
            row,
            value=float(now.values[at]),
            details={name: float(values[at]) for name, values in now.details.items()},
        )
        for at, row in rows.items()
        if row
    }


def measure_corpus(
    task: MeasuringTask,
    examples: Sequence[Example],
    targets: Targets,
    journal: Journal,
    classifier: Classifier,
    watch: Watch,
) -> list[Measurement]:
    """Measure a metric of all explanations of a method together, unless that was done; the rows of the examples."""
    known = task.method.explained(examples, targets)
    documents = [(example.id, scored.target) for example, scored in known]
    keys = task.keys(documents)
    if not journal.has(keys.values()):
        explanations = [scored.explanation(example, task.method.spec) for example, scored in known]
        judge = cast("CorpusMetric", task.metric).judge(classifier, watch)
        found = judge.over([example for example, _ in known], explanations)
        rows = {keys[place]: row for place, row in task.rows(documents, found).items()}
        journal.write(rows, {task.name: found.steps})
    return [journal.rows[key] for key in keys.values()]


def backwards(scores: Tensor, live: Tensor) -> Tensor:
    """The same scores given out the other way round: the first unit gets the last one's, and so on."""
    place = places(scores, live)  # [B, U]
    units = live.sum(1, keepdim=True)  # [B, 1]
    ordered = torch.zeros_like(scores).scatter(1, place, scores)  # by place, highest first
    mirrored = (units - 1 - place).clamp(min=0)
    return ordered.gather(1, mirrored).masked_fill(~live, 0.0)


def _keep(
    job: MeasuringJob, portion: Sequence[Example], result: Result[MeasuredExample], journal: Journal
) -> dict[str, VeridicalError]:
    """Write what came of a portion to the journal, and give the errors by key.

    Only what is wrong with an example itself stays in the journal: an error of the model may pass.
    """
    found = list(_outcomes(job, portion, result))
    errors = {key: error for each in found for key, error in each.errors.items()}
    journal.write(
        {key: row for each in found for key, row in each.rows.items()},
        {name: steps for each in found for name, steps in each.steps.items()},
        {key: error.reason for key, error in errors.items() if isinstance(error, InputError)},
    )
    return errors


def _outcomes(
    job: MeasuringJob, portion: Sequence[Example], result: Result[MeasuredExample]
) -> Iterator[MeasuredExample]:
    """What was measured of each example; where nothing could be, all its tasks have that error."""
    for example, outcome in zip(portion, result.outcomes, strict=False):  # the last ones may not have been tried
        if isinstance(outcome, Failure):
            yield MeasuredExample(errors=dict.fromkeys(job.todo([example]), outcome.error))
        else:
            yield outcome


def _rows(
    job: MeasuringJob, example: Example, journal: Journal, failures: Mapping[str, str], reasons: Reasons
) -> Iterator[Measurement]:
    """The rows of an example, task by task."""
    failed: dict[str, dict[str, list[str]]] = {}  # names of metrics by method and reason
    for task in job.tasks:
        for key in task.keys(job.documents([example])).values():
            if key in journal.rows:
                yield journal.rows[key]
            else:
                failed.setdefault(task.method.name, {}).setdefault(failures.get(key, _OTHERWISE), []).append(task.name)
    for method, told in failed.items():
        why = " ".join(f"{', '.join(dict.fromkeys(names))}: {reason.rstrip('.')}." for reason, names in told.items())
        reasons.setdefault(example.id, {})[method] = why
