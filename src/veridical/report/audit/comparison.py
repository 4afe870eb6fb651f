"""Two models by the same metrics, methods and documents: which has the better explanations?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veridical.report.audit.contrasts import directed
from veridical.report.audit.findings import Comparison, Difference, IntervalKind
from veridical.report.audit.intervals import Numbers, estimates
from veridical.report.audit.matching import match_methods, match_metrics, shared_documents
from veridical.report.audit.record import Audit, Judge
from veridical.report.audit.writing import listed, needed, number, probability

REMEDY = "normalised-aopc"
"""The metric whose values of different models can be compared where raw ones cannot."""


def compare(
    one: Audit, other: Audit, interval: IntervalKind = "bootstrap", likeness: Mapping[str, float] | None = None
) -> Comparison:
    """Compare two audits document by document, by metrics and methods of equal specs.

    `likeness` of the explanations of the two models, by method, comes from outside: rows do not have scores.
    """
    shared = shared_documents(one, other)
    metrics, methods = match_metrics(one, other), match_methods(one, other)
    cells = [
        _Cell(judge, method.name, _values(one, judge, method.name, shared), _values(other, its, same.name, shared))
        for judge, its in metrics.pairs
        for method, same in methods.pairs
    ]
    differences = _differences([cell for cell in cells if cell.scored], interval)
    judges = tuple(judge for judge, _ in metrics.pairs)
    return Comparison(
        first=one.model_name,
        second=other.model_name,
        data=one.data,
        documents=len(shared),
        metrics=judges,
        differences=differences,
        left_out={**metrics.left_out, **methods.left_out},
        likeness=dict(likeness or {}),
        verdict=_verdict(one, other, len(shared), differences),
        warnings=(*_raw(judges), *_partly(one, other, len(shared)), *_empty(cells)),
    )


@dataclass(frozen=True)
class _Cell:
    """A method by a metric on the documents that two audits share."""

    judge: Judge
    method: str
    first: Numbers
    second: Numbers

    @property
    def scored(self) -> bool:
        return not np.isnan(self.first - self.second).all()


def _values(audit: Audit, judge: Judge, method: str, shared: Sequence[str]) -> Numbers:
    values = audit.values(judge.name, method)
    places = {document.id: place for place, document in enumerate(audit.documents)}
    return values[[places[each] for each in shared]]


def _differences(cells: Sequence[_Cell], interval: IntervalKind) -> tuple[Difference, ...]:
    greater = [cell.judge.greater_is_better for cell in cells]
    found = directed([cell.first - cell.second for cell in cells], greater, interval)
    first = estimates([cell.first for cell in cells], interval)
    second = estimates([cell.second for cell in cells], interval)
    rows = zip(cells, first, second, found, strict=True)
    return tuple(Difference(cell.judge.name, cell.method, a, b, contrast) for cell, a, b, contrast in rows)


def _raw(judges: Sequence[Judge]) -> Iterator[str]:
    names = [judge.name for judge in judges if not judge.comparable]
    if names:
        yield (
            f"Values of {listed(names)} depend on how sure a model is of itself, so they do not rank models. Compare "
            f"by {REMEDY}, which is relative to the best and worst that each model allows."
        )


def _partly(one: Audit, other: Audit, shared: int) -> Iterator[str]:
    counts = len(one.documents), len(other.documents)
    if one.model.get("fingerprint") and one.model.get("fingerprint") == other.model.get("fingerprint"):
        yield "Both audits are of the same model."
    if one.data != other.data:
        yield f"The names of the data differ: {one.data} and {other.data}."
    if shared < max(counts):
        yield f"Only the {shared:,} documents in both audits are compared, of {counts[0]:,} and {counts[1]:,}."


def _empty(cells: Sequence[_Cell]) -> Iterator[str]:
    names = [f"{cell.method} by {cell.judge.name}" for cell in cells if not cell.scored]
    if names:
        yield f"No document is scored in both audits for {listed(names)}: not compared."


def _verdict(one: Audit, other: Audit, shared: int, found: Sequence[Difference]) -> tuple[str, ...]:
    if not found:
        return (f"Nothing can be compared on {shared:,} documents: see what was left out, and why.",)
    first, second = (sum(each.contrast.verdict == f"{place} better" for each in found) for place in ("first", "second"))
    return (
        f"On {shared:,} documents of {one.data}, the first model ({one.model_name}) is better in {first} of "
        f"{len(found)} comparisons, the second ({other.model_name}) in {second}; {len(found) - first - second} cannot "
        "be told.",
        *_clearest(one, found),
        *_doubtful(found),
    )


def _clearest(audit: Audit, found: Sequence[Difference]) -> Iterator[str]:
    told = [each for each in found if each.contrast.verdict != "cannot tell"]
    for each in sorted(told, key=lambda each: -abs(each.contrast.rank_biserial))[:1]:
        judge, p = audit.metric(each.metric), probability(each.contrast.adjusted)
        means = f"{number(each.first.mean, judge)} against {number(each.second.mean, judge)}"
        told_apart = f"{means}, {each.contrast.verdict} (corrected {p})"
        yield f"The clearest difference is {each.method} by {each.metric}: {told_apart}."


def _doubtful(found: Sequence[Difference]) -> Iterator[str]:
    unclear = [each for each in found if each.contrast.verdict == "cannot tell"]
    for each in sorted(unclear, key=lambda each: each.contrast.adjusted)[:1]:
        p, remedy = probability(each.contrast.adjusted), needed(each.contrast)
        yield f"The nearest to being told is {each.method} by {each.metric} (corrected {p}): {remedy}."
