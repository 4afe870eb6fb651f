"""What an audit says beside its numbers: its documents, warnings, and what each method costs in time."""

from __future__ import annotations

import platform
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from veridical.audits.explanations import MethodScores, Targets
from veridical.audits.measurement import digest
from veridical.audits.record import MODEL, Document
from veridical.audits.statistics.findings import Agreement
from veridical.audits.statistics.groups import agreement
from veridical.audits.store import Journal
from veridical.core.progress import Watch
from veridical.core.values import Example, content_hash
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


_TOP = 0.25
"""The share of the words of a text that count as its first words."""


def documents_of(
    examples: Sequence[Example], targets: Targets, methods: Sequence[MethodScores], judged: Container[str]
) -> tuple[Document, ...]:
    """The documents with an id among the `judged` ones, in the order of the examples."""
    found = []
    for example, target in ((each, target) for each in examples for target in targets.get(each.id, ())):
        place = (example.id, target)
        scored = next((method.scored[place] for method in methods if place in method.scored), None)
        if scored is not None and scored.document in judged:
            units, digest = len(scored.scores), content_hash(example.inputs)
            found.append(Document(scored.document, target, units, example.label, scored.probability, digest))
    return tuple(found)


def likeness_of(methods: Sequence[MethodScores], documents: Sequence[Document]) -> Agreement | None:
    """How many of their first words methods share, over the documents that all of them explain."""
    scores = {
        method.name: {scored.document: scored.scores.tolist() for scored in method.scored.values()}
        for method in methods
        if method.scored and method.name != MODEL
    }
    shared = [each.id for each in documents if all(each.id in found for found in scores.values())]
    if len(scores) < 2 or not shared:
        return None
    values = agreement({name: [found[id] for id in shared] for name, found in scores.items()}, _TOP)
    meaning = f"The share of their first {_TOP:.0%} of words that two methods have in common (Jaccard)."
    return Agreement("top words", meaning, tuple(scores), tuple(tuple(row) for row in values.tolist()))


def warnings_about(methods: Sequence[MethodScores]) -> Iterator[str]:
    """What makes the scores themselves doubtful."""
    for method in [each for each in methods if each.name != MODEL]:
        flat = [scored.document for scored in method.scored.values() if not scored.scores.any()]
        if flat:
            where = f"in {len(flat):,} document{'s' * (len(flat) != 1)} ({_some(flat)})"
            yield f"{method.name} scores every word 0 {where}: the order that was judged is that of the text."
    cut = sorted({example for method in methods for (example, _), each in method.scored.items() if each.truncated})
    if cut:
        texts = "1 text was" if len(cut) == 1 else f"{len(cut):,} texts were"
        yield f"{texts} longer than the model reads, and cut ({_some(cut)}). long='window' reads all."


def _some(examples: Sequence[str]) -> str:
    return ", ".join(examples[:3]) + (", ..." if len(examples) > 3 else "")
