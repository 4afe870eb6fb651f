"""Measuring in portions, and taking the time of methods."""

from __future__ import annotations

import platform
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import torch
from torch import Tensor

from veridical.audits.explanations import Place, Reasons, Targets
from veridical.audits.plan import MeasuringTask, digest
from veridical.audits.record import Measurement
from veridical.audits.store import Journal
from veridical.core.errors import InputError, ModelError, VeridicalError
from veridical.core.progress import Watch
from veridical.core.values import Example, content_hash
from veridical.masking import Case, Cost, Engine
from veridical.masking.erasure import places
from veridical.metrics import CorpusMetric, Metric, measure
from veridical.run.explain import ExplainJob
from veridical.run.job import Failure, Job, Result, charge, serially

_OTHERWISE = "asked again, the model does not choose this target any more"
"""The last digits of an output may be others beside other texts, and a decision may depend on them."""


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
        return sum(cast("Metric", task.metric).questions(units) for task in self.tasks)

    def documents(self, examples: Sequence[Example]) -> list[Place]:
        """Each example with each of its targets."""
        return [(example.id, target) for example in examples for target in self.targets[example.id]]

    def missing(self, examples: Sequence[Example]) -> list[MeasuringTask]:
        """The tasks that have to be done for some examples."""
        documents = self.documents(examples)
        return [task for task in self.tasks if any(key not in self.known for key in task.keys(documents).values())]

    def work(self, examples: list[Example], engine: Engine) -> list[MeasuredExample]:
        found = {example.id: MeasuredExample() for example in examples}
        if missing := self.missing(examples):
            case = Case.bind(self.model.classifier, examples, target=self.target, engine=engine)
            scores = {task.method.name: task.method.scores(case) for task in missing}
            for task in missing:
                self._measure(task, case, scores[task.method.name], found)
        return list(found.values())

    def _measure(self, task: MeasuringTask, case: Case, scores: Tensor, found: dict[str, MeasuredExample]) -> None:
        documents = entries(case)
        keys = task.keys(documents)
        ordered = backwards(scores, case.live) if task.order == "reversed" else scores
        try:
            measured = measure(cast("Metric", task.metric), case, ordered)
        except (InputError, ModelError) as error:
            if len(found) > 1:  # which of them cannot be measured is found by halves
                raise
            found[case.batch.examples[0].id].errors |= dict.fromkeys(keys.values(), error)
            return
        for place, row in task.rows(documents, measured).items():
            mine = found[place[0]]
            mine.rows[keys[place]] = row
            mine.steps[task.name] = measured.steps


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
    errors: dict[str, VeridicalError] = {}
    for portion, result in zip(todo, serially(job, todo, watch), strict=True):
        charge(engine.cost, result.cost)
        errors |= _keep(job, portion, result, journal)
        count(len(portion))
    known = journal.failures | {key: error.reason for key, error in errors.items()}
    return [row for example in examples for row in _rows(job, example, journal, known, reasons)]


def measure_corpus(
    task: MeasuringTask, examples: Sequence[Example], targets: Targets, journal: Journal
) -> list[Measurement]:
    """Measure a metric of all explanations of a method together, unless that was done; the rows of the examples."""
    known = task.method.explained(examples, targets)
    documents = [(example.id, scored.target) for example, scored in known]
    keys = task.keys(documents)
    if not journal.has(keys.values()):
        explanations = [scored.explanation(example, task.method.spec) for example, scored in known]
        found = cast("CorpusMetric", task.metric).over([example for example, _ in known], explanations)
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
    for example, outcome in zip(portion, result.outcomes, strict=True):
        if isinstance(outcome, Failure):
            keys = [key for task in job.missing([example]) for key in task.keys(job.documents([example])).values()]
            yield MeasuredExample(errors=dict.fromkeys(keys, outcome.error))
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


Costs = dict[str, float]
"""Means per document: `seconds`, `forwards` and `backwards`."""


def costs_once(job: ExplainJob, examples: Sequence[Example], journal: Journal, engine: Engine, watch: Watch) -> Costs:
    """What a method costs on some documents. The journal keeps it, so that it is found out once on each machine."""
    place = (str(job.settings), str(job.model.classifier.device), platform.node())
    key = digest(job.key, *place, *(content_hash(example.inputs) for example in examples))
    if key not in journal.times:
        timing = time_method(job, examples, watch)
        charge(engine.cost, timing.spent)
        journal.time(key, timing.costs)
    return journal.times[key]


@dataclass(frozen=True)
class Timing:
    """What a method costs per document, and what finding that out has cost in all."""

    costs: Costs
    spent: Cost


def time_method(job: ExplainJob, examples: Sequence[Example], watch: Watch) -> Timing:
    """Means per document, without the prediction itself: `seconds` of wall time, `forwards` and `backwards` passes.

    The method runs as it does when it explains: with the same precision, batches and target. The first document is
    explained once before the clock starts, so that nobody pays for warming up.
    """
    spent, own, seconds, count = _explain(job, examples[0]).whole, Cost(), 0.0, 0
    for example in examples:
        watch.check()
        done = _explain(job, example)
        charge(spent, done.whole)
        charge(own, done.scoring)
        seconds, count = seconds + done.seconds, count + done.documents
    costs = {"seconds": seconds / count, "forwards": own.forwards / count, "backwards": own.backwards / count}
    return Timing(costs, spent)


@dataclass(frozen=True)
class _Explained:
    """What an example costs in all, and what it costs and how long it takes after the prediction.

    It is one document for each of its targets.
    """

    whole: Cost
    scoring: Cost
    seconds: float
    documents: int


def _explain(job: ExplainJob, example: Example) -> _Explained:
    engine, device = job.settings.engine(), job.model.classifier.device
    case = Case.bind(job.model.classifier, [example], target=job.target, engine=engine)
    bound = replace(engine.cost)
    _settle(device)
    begin = time.perf_counter()
    job.explainer.scores(case)
    _settle(device)
    seconds = time.perf_counter() - begin
    forwards, backwards = engine.cost.forwards - bound.forwards, engine.cost.backwards - bound.backwards
    return _Explained(engine.cost, Cost(forwards=forwards, backwards=backwards), seconds, len(case))


def _settle(device: torch.device) -> None:
    """Wait for what a device still has to do, or the clock would stop too early."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
