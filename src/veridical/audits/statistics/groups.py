"""Parts of the documents, steps of a curve, ways of erasing, likeness of methods: do the scores hold everywhere?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from veridical.audits.record import FLOOR, Audit, AuditedMetric, Document
from veridical.audits.statistics.findings import Agreement, Curve, FlipCurve, MetricTable, Part, Ranking, Removal
from veridical.audits.statistics.samples import Numbers, estimates
from veridical.audits.statistics.verdicts import key
from veridical.core.errors import InputError
from veridical.core.values import share


@dataclass(frozen=True)
class Group:
    """Some of the documents: `members` [documents] says which."""

    by: Literal["class", "length"]
    name: str
    members: NDArray[np.bool_]


def breakdown(audit: Audit) -> tuple[Part, ...]:
    """The mean of each metric and method over each group of documents."""
    groups = classes(audit) + lengths(audit)
    return tuple(
        part
        for metric in audit.metrics
        for method in audit.methods
        if audit.has(metric.name, method.name)
        for part in _parts(audit, metric.name, method.name, groups)
    )


def classes(audit: Audit) -> list[Group]:
    """Documents by their label, or by what the model explained where there is none. One class is no breakdown."""
    names = np.array([class_of(document) for document in audit.documents], dtype=object)
    known = sorted(set(names))
    return [Group("class", name, names == name) for name in known] if len(known) > 1 else []


def lengths(audit: Audit) -> list[Group]:
    """Documents in thirds by their number of units; fewer groups where many are of one length."""
    units = np.array([document.units for document in audit.documents], dtype=float)
    if not len(units):
        return []
    third = np.searchsorted(np.quantile(units, [1 / 3, 2 / 3]), units)  # 0 up to the first quantile, and so on
    groups = [Group("length", _span(units[third == part]), third == part) for part in np.unique(third)]
    return groups if len(groups) > 1 else []


def class_of(document: Document) -> str:
    """The label if the document has one; else, and where there are several, what is explained."""
    return document.label if isinstance(document.label, str) else document.target


def _span(units: NDArray[np.float64]) -> str:
    low, high = int(units.min()), int(units.max())
    return f"{low} to {high} units" if low < high else f"{low} units"


def _parts(audit: Audit, metric: str, method: str, groups: list[Group]) -> list[Part]:
    values = audit.values(metric, method)
    found = estimates([values[group.members] for group in groups])
    return [Part(metric, method, group.by, group.name, each) for group, each in zip(groups, found, strict=True)]


_GRID = np.linspace(0, 1, 101)
_TOLERANCE = 1e-6
"""Shares are stored in single precision: 0.05 may be a little more."""


def curves(audit: Audit) -> tuple[Curve, ...]:
    """The curves of all metrics that have steps."""
    return tuple(
        _curve(audit, metric, method.name)
        for metric in audit.metrics
        for method in audit.methods
        if metric.steps and audit.has(metric.name, method.name)
    )


def flip_curves(audit: Audit) -> tuple[FlipCurve, ...]:
    """The curves of all metrics that say of each document whether and where it flipped."""
    found = (_flips(audit, metric.name, method.name) for metric in audit.metrics for method in audit.methods)
    return tuple(each for each in found if each.n)


def _curve(audit: Audit, metric: AuditedMetric, method: str) -> Curve:
    points = audit.curves(metric.name, method)  # [documents, steps]
    return Curve(metric.name, method, metric.steps, tuple(estimates(list(points.T))))


def _flips(audit: Audit, metric: str, method: str) -> FlipCurve:
    # By the details: a value of the floor is a mean over draws, and no share at which any decision flipped.
    values, flipped = (audit.detail(name, metric, method) for name in ("share", "flipped"))
    scored = ~np.isnan(values) & ~np.isnan(flipped)
    where = np.sort(values[scored & (flipped > 0)])
    # How many decisions have flipped by each share of the grid; the tolerance counts one that flips exactly there.
    counts, n = np.searchsorted(where, _GRID + _TOLERANCE, side="right"), int(scored.sum())
    shares = tuple(float(share) for share in _GRID.round(2))
    return FlipCurve(metric, method, shares, tuple(float(count / max(n, 1)) for count in counts), n)


def removals(audit: Audit, tables: Sequence[MetricTable]) -> tuple[Removal, ...]:
    """Metrics that differ in nothing but their eraser, side by side."""
    groups: dict[str, list[AuditedMetric]] = {}
    for metric in audit.metrics:
        if metric.eraser is not None:
            groups.setdefault(_settings(metric), []).append(metric)
    known = {table.metric: table for table in tables}
    found = [_removal(group, [known[metric.name] for metric in group]) for group in groups.values() if len(group) > 1]
    return tuple(each for each in found if len(each.rankings[0].methods) > 1)


def _settings(metric: AuditedMetric) -> str:
    return key({option: value for option, value in metric.spec.items() if option != "eraser"})


def _removal(metrics: Sequence[AuditedMetric], tables: Sequence[MetricTable]) -> Removal:
    scored = [{cell.method for cell in table.cells if cell.order == "given" and cell.scored} for table in tables]
    # Only what every eraser has scored can be ranked; the floor has no place in a ranking of methods.
    methods = sorted(set.intersection(*scored) - {FLOOR})
    rankings = tuple(_ranking(metric, table, methods) for metric, table in zip(metrics, tables, strict=True))
    # Stricter than being first: a method that no eraser can tell from its best.
    best = [method for method in tables[0].best if method in methods and all(method in each.best for each in tables)]
    tops = {ranking.methods[:1] for ranking in rankings}
    return Removal(metrics[0].kind, rankings, _kendall(rankings, methods), tuple(best), len(tops) == 1)


def _ranking(metric: AuditedMetric, table: MetricTable, methods: Sequence[str]) -> Ranking:
    means = {cell.method: cell.mean for cell in table.cells if cell.order == "given" and cell.method in methods}
    ranked = sorted(methods, key=means.__getitem__, reverse=metric.greater_is_better)
    return Ranking(metric.name, str(metric.eraser), tuple(ranked), tuple(means[method] for method in ranked))


def _kendall(rankings: Sequence[Ranking], methods: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    means = [dict(zip(ranking.methods, ranking.means, strict=True)) for ranking in rankings]
    columns = [np.array([each[method] for method in methods]) for each in means]
    return tuple(tuple(_tau(one, other) for other in columns) for one in columns)


def _tau(one: np.ndarray, other: np.ndarray) -> float:
    # Tau-b, which corrects for equal means.
    return float(stats.kendalltau(one, other).statistic) if len(one) > 1 else np.nan


DocumentScores = Sequence[float]


def jaccard(one: DocumentScores, other: DocumentScores, ratio: float = 0.25) -> float:
    """The positions that both explanations have in their first `ratio`, over those that either has.

    NaN for a document without words. What chance reaches is about `ratio / (2 - ratio)`.
    """
    return float(_overlaps(_stacked([one, other]), ratio)[0, 1])


def agreement(scores_by_method: Mapping[str, Sequence[DocumentScores]], ratio: float = 0.25) -> Numbers:
    """The mean `jaccard` of each method with each over documents, [M, M], in the order of the methods.

    Every method has the scores of the same documents in the same order. Documents without words do not count.
    """
    methods = list(scores_by_method.values())
    _check_same_number(scores_by_method)
    overlaps = [_overlaps(_stacked(document), ratio) for document in zip(*methods, strict=True) if len(document[0])]
    return np.mean(overlaps, axis=0) if overlaps else np.full((len(methods), len(methods)), np.nan)


def _overlaps(scores: Numbers, ratio: float) -> Numbers:
    """`jaccard` of each ranking with each, from the scores [M, n] of one document: [M, M]."""
    methods, units = scores.shape
    if units == 0:
        return np.full((methods, methods), np.nan)
    count = share(ratio, units)
    first = np.argsort(-scores, axis=1, kind="stable")[:, :count]  # equal scores keep their order in the text
    on_top = np.zeros(scores.shape)
    np.put_along_axis(on_top, first, 1.0, axis=1)
    shared = on_top @ on_top.T  # [M, M], the size of each intersection
    # Both sets have `count` members, so their union has 2 count - shared.
    overlaps: Numbers = shared / (2 * count - shared)
    return overlaps


def _stacked(document: Sequence[DocumentScores]) -> Numbers:
    if any(len(one) != len(other) for one, other in pairwise(document)):
        counts = ", ".join(str(len(scores)) for scores in document)
        raise InputError(
            f"explanations to compare have different numbers of scores: {counts}",
            remedy="Compare explanations of the same documents in the same units.",
        )
    return np.array(document, dtype=float).reshape(len(document), -1)


def _check_same_number(scores_by_method: Mapping[str, Sequence[DocumentScores]]) -> None:
    counts = {name: len(documents) for name, documents in scores_by_method.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise InputError(f"methods to compare explain different documents: {listed}", remedy="Explain all again.")


def agreements(audit: Audit) -> tuple[Agreement, ...]:
    """A matrix of each metric that says which class the words kept give."""
    found = (_agreement(audit, metric) for metric in audit.metrics)
    return tuple(each for each in found if each.methods)


def _agreement(audit: Audit, metric: AuditedMetric) -> Agreement:
    classes = {method.name: audit.detail("class", metric.name, method.name) for method in audit.methods}
    given = {name: each for name, each in classes.items() if not np.isnan(each).all()}
    values = tuple(tuple(_same(one, other) for other in given.values()) for one in given.values())
    meaning = "The share of documents on which the words that two methods keep give the same class."
    return Agreement(metric.name, meaning, tuple(given), values)


def _same(one: Numbers, other: Numbers) -> float:
    both = ~np.isnan(one) & ~np.isnan(other)
    return float((one[both] == other[both]).mean()) if both.any() else np.nan
