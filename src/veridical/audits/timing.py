"""Taking the time of methods."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from veridical.audits.measurement import spend
from veridical.audits.plan import digest
from veridical.audits.store import Journal
from veridical.core.progress import Watch
from veridical.core.values import Example, content_hash
from veridical.masking import Case, Cost, Engine
from veridical.run.explain import ExplainJob
from veridical.run.job import Job, charge, serially, while_it_answers

Costs = dict[str, float]
"""Means per document: `seconds`, `forwards` and `backwards`."""


def costs_once(job: ExplainJob, examples: Sequence[Example], journal: Journal, engine: Engine, watch: Watch) -> Costs:
    """What a method costs on some documents. The journal keeps it, so that it is found out once on each machine."""
    place = (str(job.settings), str(job.model.classifier.device), platform.node())
    key = digest(job.key, *place, *(content_hash(example.inputs) for example in examples))
    if key not in journal.times:
        timing = time_method(job, examples, watch, safe=f"all that was measured is safe in {journal.folder}")
        charge(engine.cost, timing.spent)
        if not timing.costs:  # the model answered about none of them: next time it may
            return {}
        spend(journal, key, timing.spent)
        journal.time(key, timing.costs)
    return journal.times[key]


@dataclass(frozen=True)
class Timing:
    """What a method costs per document, and what finding that out has cost in all."""

    costs: Costs
    spent: Cost


def time_method(job: ExplainJob, examples: Sequence[Example], watch: Watch, safe: str = "") -> Timing:
    """Means per document, without the prediction itself: `seconds` of wall time, `forwards` and `backwards` passes.

    The method runs as it does when it explains: with the same precision, batches and target. The first document is
    explained once before the clock starts, so that nobody pays for warming up. `safe` says what is kept if the model
    is gone.
    """
    timing = TimingJob(job.model, job.target, job.settings, job)
    spent, one_by_one = Cost(), [[example] for example in (examples[0], *examples)]
    results = list(while_it_answers(serially(timing, one_by_one, watch), lambda: safe))
    for result in results:
        charge(spent, result.cost)
    return Timing(_means([each for result in results[1:] for each in result.made]), spent)


@dataclass(frozen=True)
class TimedExample:
    """What explaining an example costs, after its prediction. It is one document for each of its targets."""

    seconds: float
    cost: Cost
    documents: int


def _means(timed: Sequence[TimedExample]) -> Costs:
    count = sum(each.documents for each in timed)
    totals = {
        "seconds": sum(each.seconds for each in timed),
        "forwards": sum(each.cost.forwards for each in timed),
        "backwards": sum(each.cost.backwards for each in timed),
    }
    return {name: total / count for name, total in totals.items()} if count else {}


@dataclass(frozen=True)
class TimingJob(Job[TimedExample]):
    """Explain examples by a method, one by one, and take the time of it."""

    explaining: ExplainJob

    def work(self, examples: list[Example], engine: Engine) -> list[TimedExample]:
        return [self._timed(example, engine) for example in examples]

    def _timed(self, example: Example, engine: Engine) -> TimedExample:
        device = self.model.classifier.device
        case = Case.bind(self.model.classifier, [example], target=self.target, engine=engine)
        bound = replace(engine.cost)
        _settle(device)
        begin = time.perf_counter()
        self.explaining.explainer.scores(case)
        _settle(device)
        seconds = time.perf_counter() - begin
        forwards, backwards = engine.cost.forwards - bound.forwards, engine.cost.backwards - bound.backwards
        return TimedExample(seconds, Cost(forwards=forwards, backwards=backwards), len(case))


def _settle(device: torch.device) -> None:
    """Wait for what a device still has to do, or the clock would stop too early."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
