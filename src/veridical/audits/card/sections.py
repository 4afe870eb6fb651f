"""What the sections of a card show: its best and worst documents, groups, kinds of words, attacks, costs and specs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.audits.numbers import score
from veridical.audits.record import FLOOR, MODEL, Audit, AuditedMetric, document_id
from veridical.audits.statistics.findings import MetricTable, Part, Removal, Summary
from veridical.audits.statistics.summary import AttackStatistics, attack_statistics
from veridical.core.values import Explanation
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


# An audit's record tells metrics apart by their names alone, and the further numbers of these two need a table of
# their own: importance by part of speech, and what an attack took.
PARTS_OF_SPEECH, ATTACK = "pos-importance", "attack"
_ATTACK_DETAILS = ("right", "queries", "perturbed", "words")
_KNOWN_COSTS = ("queries", "forwards", "backwards", "seconds")


@dataclass(frozen=True)
class Section:
    """A part of a page: `templates/sections/ID.html` draws what is `shown`. It is left out when that is empty."""

    id: str
    title: str
    shown: Any


@dataclass(frozen=True)
class GroupTable:
    """One metric by groups of documents: `columns` are pairs of a kind of group and its name."""

    metric: AuditedMetric
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Part | None, ...]], ...]


@dataclass(frozen=True)
class KindTable:
    """The mean importance of a word by kind (rows) and method (columns), NaN where no document has such a word."""

    metric: AuditedMetric
    methods: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class CostTable:
    """Means per document of each method by kind of cost, None where it was not measured; and the audit's own work."""

    kinds: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    queries: int
    forwards: int


@dataclass(frozen=True)
class Spec:
    """How something was made, at a place to link to. `what` is its kind; settings have no name."""

    id: str
    what: str
    name: str
    data: Mapping[str, Any]


def methods_of(audit: Audit) -> list[str]:
    """The methods as audited, the floor last."""
    return floor_last(method.name for method in audit.methods)


def floor_last(methods: Iterable[str]) -> list[str]:
    """The same methods in the same order, but the floor behind them."""
    return sorted(methods, key=lambda method: method == FLOOR)


def group_tables(audit: Audit, summary: Summary) -> list[GroupTable]:
    """Each metric by class and by length."""
    metrics = dict.fromkeys(part.metric for part in summary.parts)
    return [
        _group_table(audit.metric(name), [part for part in summary.parts if part.metric == name]) for name in metrics
    ]


def _group_table(metric: AuditedMetric, parts: Sequence[Part]) -> GroupTable:
    columns = tuple(dict.fromkeys((part.by, part.group) for part in parts))
    methods = floor_last(dict.fromkeys(part.method for part in parts))
    found = {(part.method, part.by, part.group): part for part in parts}
    rows = ((method, tuple(found.get((method, *column)) for column in columns)) for method in methods)
    return GroupTable(metric, columns, tuple(rows))


def kind_tables(audit: Audit) -> list[KindTable]:
    """The importance of words by part of speech, from each metric that measures it."""
    tables = (_kind_table(audit, metric) for metric in audit.metrics if metric.kind == PARTS_OF_SPEECH)
    return [table for table in tables if table.rows]


def _kind_table(audit: Audit, metric: AuditedMetric) -> KindTable:
    methods = tuple(method.name for method in audit.methods)
    kinds = sorted({kind for row in audit.rows if row.metric == metric.name for kind in row.details})
    rows = ((kind, tuple(_mean(audit.detail(kind, metric.name, method)) for method in methods)) for kind in kinds)
    return KindTable(metric, methods, tuple((kind, means) for kind, means in rows if not np.isnan(means).all()))


def _mean(values: np.ndarray) -> float:
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def kendall_pairs(removal: Removal) -> list[tuple[str, str, float]]:
    """Kendall's tau between the rankings under two erasers, each pair of erasers once."""
    erasers = [ranking.eraser for ranking in removal.rankings]
    return [
        (erasers[row], erasers[column], removal.kendall[row][column])
        for row in range(len(erasers))
        for column in range(row + 1, len(erasers))
    ]


def attack_rows(audit: Audit) -> list[tuple[AuditedMetric, AttackStatistics]]:
    """Each attack with how often the model was right before and after, and what that took."""
    attacks = [metric for metric in audit.metrics if metric.kind == ATTACK and audit.has(metric.name, MODEL)]
    return [(metric, _attack(audit, metric.name)) for metric in attacks]


def _attack(audit: Audit, metric: str) -> AttackStatistics:
    details = {each: audit.detail(each, metric, MODEL) for each in _ATTACK_DETAILS}
    return attack_statistics(audit.values(metric, MODEL), details)


def cost_table(audit: Audit) -> CostTable | None:
    """What each method costs, and what the audit itself asked of the model; None if neither is known."""
    found = list(dict.fromkeys(kind for method in audit.methods for kind in method.costs))
    kinds = [kind for kind in _KNOWN_COSTS if kind in found] + [kind for kind in found if kind not in _KNOWN_COSTS]
    rows = tuple((method.name, tuple(method.costs.get(kind) for kind in kinds)) for method in audit.methods)
    queries, forwards = audit.work.get("queries", 0), audit.work.get("forwards", 0)
    return CostTable(tuple(kinds), rows, queries, forwards) if kinds or queries else None


def audit_specs(audit: Audit) -> list[Spec]:
    """How every number of an audit was made."""
    settings = [Spec("settings", "Settings of the audit", "", audit.settings)] if audit.settings else []
    methods = (
        Spec(f"spec-method-{place}", "Method", method.name, method.spec)
        for place, method in enumerate(audit.methods, start=1)
    )
    model = Spec("spec-model", "Model", audit.model_name, audit.model)
    return [*settings, *metric_specs(audit.metrics), *methods, model]


def metric_specs(metrics: Sequence[AuditedMetric]) -> list[Spec]:
    """The spec of each metric, where the links lead. Names may hold anything, so places are numbered."""
    return [
        Spec(f"spec-metric-{place}", "Metric", metric.name, metric.spec)
        for place, metric in enumerate(metrics, start=1)
    ]
