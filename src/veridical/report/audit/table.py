"""The table of one metric: means, pairs of methods, sanity checks, and which methods are best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from veridical.report.audit.contrasts import contrasts, turned_around
from veridical.report.audit.findings import Cell, Contrast, Estimate, IntervalKind, Pair, Sanity, Table
from veridical.report.audit.intervals import Numbers, estimates
from veridical.report.audit.record import FLOOR, Audit, Judge, Order

_ORDERS: tuple[Order, ...] = ("given", "reversed")


def table(audit: Audit, judge: Judge, interval: IntervalKind) -> Table:
    """Everything about one metric. Methods that it never scored have a cell, but nothing to compare."""
    values = {
        (method.name, order): audit.values(judge.name, method.name, order)
        for method in audit.methods
        for order in _ORDERS
        if audit.has(judge.name, method.name, order)
    }
    pairs = _pairs(values, judge, interval)
    return Table(
        metric=judge.name,
        cells=_cells(values, pairs, interval),
        pairs=pairs,
        sanity=_sanity(values, pairs, judge, interval),
        best=_best(values, pairs, judge),
    )


_Values = dict[tuple[str, Order], Numbers]


def _scored(values: _Values) -> list[str]:
    return [method for (method, order), each in values.items() if order == "given" and not np.isnan(each).all()]


def _pairs(values: _Values, judge: Judge, interval: IntervalKind) -> tuple[Pair, ...]:
    names = list(combinations(_scored(values), 2))
    differences = [values[first, "given"] - values[second, "given"] for first, second in names]
    found = contrasts(differences, judge.greater_is_better, interval)
    return tuple(Pair(first, second, contrast) for (first, second), contrast in zip(names, found, strict=True))


def _cells(values: _Values, pairs: Sequence[Pair], interval: IntervalKind) -> tuple[Cell, ...]:
    beaten = {(pair.second if pair.first == FLOOR else pair.first): pair for pair in pairs if FLOOR in _names(pair)}
    found = dict(zip(values, estimates(list(values.values()), interval), strict=True))
    return tuple(_cell(key, values[key], found, beaten) for key in values)


def _names(pair: Pair) -> tuple[str, str]:
    return pair.first, pair.second


def _cell(
    key: tuple[str, Order], sample: Numbers, found: dict[tuple[str, Order], Estimate], beaten: dict[str, Pair]
) -> Cell:
    method, order = key
    known = np.sort(sample[~np.isnan(sample)])
    against = beaten.get(method) if order == "given" else None
    turned = found.get((method, "reversed"))
    return Cell(
        method=method,
        order=order,
        mean=found[key].mean,
        low=found[key].low,
        high=found[key].high,
        std=float(known.std(ddof=1)) if len(known) > 1 else np.nan,
        scored=len(known),
        undefined=len(sample) - len(known),
        beats_floor=against.better == method if against else None,
        reversed_mean=turned.mean if turned and order == "given" else np.nan,
    )


def _sanity(values: _Values, pairs: Sequence[Pair], judge: Judge, interval: IntervalKind) -> tuple[Sanity, ...]:
    methods = [method for method in _scored(values) if method != FLOOR]
    turned = [method for method in methods if (method, "reversed") in values]
    differences = [values[method, "given"] - values[method, "reversed"] for method in turned]
    against = dict(zip(turned, contrasts(differences, judge.greater_is_better, interval), strict=True))
    return tuple(Sanity(method, against.get(method), _floor(method, pairs)) for method in methods)


def _floor(method: str, pairs: Sequence[Pair]) -> Contrast | None:
    """The contrast with the floor, the method first."""
    for pair in pairs:
        if _names(pair) == (method, FLOOR):
            return pair.contrast
        if _names(pair) == (FLOOR, method):
            return turned_around(pair.contrast)
    return None


def _best(values: _Values, pairs: Sequence[Pair], judge: Judge) -> tuple[str, ...]:
    """The method of the best mean first, then those that it is not better than."""
    sign = -1 if judge.greater_is_better else 1
    methods = sorted(_scored(values), key=lambda method: sign * float(np.nanmean(np.sort(values[method, "given"]))))
    beaten = {pair.first if pair.better == pair.second else pair.second for pair in pairs if pair.better in methods[:1]}
    return tuple(method for method in methods if method not in beaten)
