"""What an explanation costs: seconds and passes of the model, taken one document at a time."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from veridical.audits.journal import Journal
from veridical.audits.tasks import digest
from veridical.core.example import Example, content_hash
from veridical.core.progress import Watch
from veridical.masking import Case, Cost, Engine
from veridical.run.explain import ExplainJob
from veridical.run.job import charge

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
