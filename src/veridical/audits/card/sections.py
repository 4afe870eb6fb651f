"""What each part of a card shows, as values. A template in `templates/sections` draws each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.audits.record import FLOOR, MODEL, Audit, AuditedMetric
from veridical.audits.statistics.attack import AttackStatistics, attack_statistics
from veridical.audits.statistics.findings import (
    Part,
    Removal,
    Summary,
)

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
