"""The documents that a metric likes best and least, with the highlights of every method side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from veridical.audits.card.figures import score
from veridical.audits.record import FLOOR, Audit, AuditedMetric, document_id
from veridical.audits.statistics.findings import MetricTable, Summary
from veridical.core.explanation import Explanation
from veridical.report.drawing import Drawing, drawing

ExplanationsByMethod = Mapping[str, Sequence[Explanation]]
"""Explanations by the method's name in the audit."""

MOST = 3
"""So many of the best, and so many of the worst."""


@dataclass(frozen=True)
class MethodOnDocument:
    """A method's explanation of one document, with its score in words."""

    method: str
    told: str
    drawing: Drawing


@dataclass(frozen=True)
class ShownDocument:
    """One document, at its `place`: among the best or the worst."""

    id: str
    place: str
    methods: tuple[MethodOnDocument, ...]


@dataclass(frozen=True)
class ShownDocuments:
    """The best and the worst documents of a method by a metric."""

    metric: AuditedMetric
    method: str
    documents: tuple[ShownDocument, ...]


def shown_documents(audit: Audit, summary: Summary, explained: ExplanationsByMethod) -> ShownDocuments | None:
    """The best and worst documents of the best method, by the first metric that ranks words; None if there are none."""
    subject = _subject(audit, summary)
    if subject is None:
        return None
    metric, method = subject
    ids = {_id(audit, each) for found in explained.values() for each in found}
    best, worst = extremes(audit, metric, method, ids)
    places = [*((id, "Best") for id in best), *((id, "Worst") for id in worst)]
    shown = tuple(ShownDocument(id, place, _methods(audit, metric, id, explained)) for id, place in places)
    return ShownDocuments(metric, method, shown) if shown else None


def to_show(audit: Audit, summary: Summary) -> set[str]:
    """The documents that the card shows, so that only their explanations have to be at hand."""
    subject = _subject(audit, summary)
    if subject is None:
        return set()
    best, worst = extremes(audit, *subject, {document.id for document in audit.documents})
    return {*best, *worst}


def ranking_metric(audit: Audit) -> AuditedMetric | None:
    """The first metric that judges an order of words, which was also asked about reversed orders; else the first."""
    ranking = (
        metric
        for metric in audit.metrics
        if any(audit.has(metric.name, each.name, "reversed") for each in audit.methods)
    )
    return next(ranking, audit.metrics[0] if audit.metrics else None)


def extremes(audit: Audit, metric: AuditedMetric, method: str, ids: set[str]) -> tuple[list[str], list[str]]:
    """The best documents, the best first, and the worst, the worst first; no document is both."""
    sign = -1 if metric.greater_is_better else 1
    values = zip(audit.documents, audit.values(metric.name, method), strict=True)
    known = [(sign * float(value), each.id) for each, value in values if each.id in ids and math.isfinite(value)]
    ranked = [id for _, id in sorted(known, key=lambda pair: pair[0])]
    half = (len(ranked) + 1) // 2
    return ranked[: min(MOST, half)], ranked[half:][::-1][:MOST]


def _subject(audit: Audit, summary: Summary) -> tuple[AuditedMetric, str] | None:
    """The metric that chooses documents and its best method, if it scored anything."""
    metric = ranking_metric(audit)
    method = None if metric is None else _leader(summary.table(metric.name), metric)
    return None if metric is None or method is None else (metric, method)


def _leader(found: MetricTable, metric: AuditedMetric) -> str | None:
    """The method with the best mean; the floor only where there is nothing else."""
    cells = [cell for cell in found.cells if cell.order == "given" and math.isfinite(cell.mean)]
    sign = -1 if metric.greater_is_better else 1
    ranked = sorted(cells, key=lambda cell: (cell.method == FLOOR, sign * cell.mean))
    return ranked[0].method if ranked else None


def _methods(
    audit: Audit, metric: AuditedMetric, id: str, explained: ExplanationsByMethod
) -> tuple[MethodOnDocument, ...]:
    found = {method: each for method, all in explained.items() for each in all if _id(audit, each) == id}
    return tuple(
        MethodOnDocument(method, _told(audit, metric, method, id), drawing(each)) for method, each in found.items()
    )


def _id(audit: Audit, explanation: Explanation) -> str:
    return document_id(explanation.example_id, explanation.target, audit.model)


def _told(audit: Audit, metric: AuditedMetric, method: str, id: str) -> str:
    if not audit.has(metric.name, method):
        return "not measured"
    place = [document.id for document in audit.documents].index(id)
    return score(float(audit.values(metric.name, method)[place]), metric)
