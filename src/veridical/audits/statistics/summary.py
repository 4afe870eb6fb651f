"""The summary of an audit, and the table of each metric: means, pairs of methods with tests, which are best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from veridical.audits.record import FLOOR, Audit, AuditedMetric, Order, check_audit
from veridical.audits.statistics.findings import (
    ALPHA,
    Cell,
    Contrast,
    Estimate,
    MetricTable,
    Outcome,
    Pair,
    Sanity,
    Summary,
)
from veridical.audits.statistics.groups import agreements, breakdown, curves, flip_curves, removals
from veridical.audits.statistics.samples import (
    Numbers,
    cohen,
    documents_needed,
    estimates,
    holm,
    levels,
    rank_biserial,
    signed_rank,
)
from veridical.audits.statistics.verdicts import cautions, verdicts


def contrasts(differences: Sequence[Numbers], greater: Sequence[bool]) -> list[Contrast]:
    """A contrast of each sample of differences (first minus second, NaN where unknown), corrected as one family.

    `greater` says of each sample whether greater values are better.
    """
    # Paired by document: documents differ more from each other than methods do on one of them.
    tests = [signed_rank(each) for each in differences]
    ps = [test.p for test in tests]
    rows = zip(differences, greater, estimates(differences), tests, holm(ps), levels(ps), strict=True)
    return [_contrast(each, up, mean, test.n, test.p, p, level) for each, up, mean, test, p, level in rows]


def turned_around(contrast: Contrast) -> Contrast:
    """The same with first and second in each other's place."""
    swapped: dict[Outcome, Outcome] = {"first better": "second better", "second better": "first better"}
    return replace(
        contrast,
        mean=-contrast.mean,
        low=-contrast.high,
        high=-contrast.low,
        rank_biserial=-contrast.rank_biserial,
        cohen=-contrast.cohen,
        verdict=swapped.get(contrast.verdict, contrast.verdict),
    )


def _contrast(
    differences: Numbers, greater: bool, mean: Estimate, tested: int, p: float, adjusted: float, level: float
) -> Contrast:
    ranks, effect = rank_biserial(differences), cohen(differences)
    verdict = _verdict(mean.mean, ranks, adjusted, greater)
    # At the level that Holm's correction holds this very test to, or too few documents would be promised to suffice.
    needed = documents_needed(effect, level) if verdict == "cannot tell" else None
    return Contrast(
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        n=mean.n,
        tested=tested,
        p=p,
        adjusted=adjusted,
        rank_biserial=ranks,
        cohen=effect,
        verdict=verdict,
        # These documents did not suffice, whatever the approximation says.
        needed=None if needed is None else max(needed, mean.n + 1),
    )


def _verdict(mean: float, ranks: float, adjusted: float, greater: bool) -> Outcome:
    """Which one is better: the difference is significant, and its mean and its ranks point the same way."""
    # The test is of ranks, but tables show means: a few extreme documents can turn the mean the other way.
    if not adjusted < ALPHA or mean * ranks <= 0:
        return "cannot tell"
    return "first better" if (mean > 0) == greater else "second better"


_ORDERS: tuple[Order, ...] = ("given", "reversed")


def table(audit: Audit, metric: AuditedMetric) -> MetricTable:
    """Everything about one metric. Methods that it never scored have a cell, but nothing to compare."""
    values = {
        (method.name, order): audit.values(metric.name, method.name, order)
        for method in audit.methods
        for order in _ORDERS
        if audit.has(metric.name, method.name, order)
    }
    pairs = _pairs(values, metric)
    return MetricTable(
        metric=metric.name,
        cells=_cells(values, pairs),
        pairs=pairs,
        sanity=_sanity(values, pairs, metric),
        best=_best(values, pairs, metric),
    )


_Values = dict[tuple[str, Order], Numbers]


def _scored(values: _Values) -> list[str]:
    return [method for (method, order), each in values.items() if order == "given" and not np.isnan(each).all()]


def _pairs(values: _Values, metric: AuditedMetric) -> tuple[Pair, ...]:
    names = list(combinations(_scored(values), 2))
    differences = [values[first, "given"] - values[second, "given"] for first, second in names]
    found = contrasts(differences, [metric.greater_is_better] * len(differences))
    return tuple(Pair(first, second, contrast) for (first, second), contrast in zip(names, found, strict=True))


def _cells(values: _Values, pairs: Sequence[Pair]) -> tuple[Cell, ...]:
    beaten = {(pair.second if pair.first == FLOOR else pair.first): pair for pair in pairs if FLOOR in _names(pair)}
    found = dict(zip(values, estimates(list(values.values())), strict=True))
    return tuple(_cell(key, values[key], found, beaten) for key in values)


def _names(pair: Pair) -> tuple[str, str]:
    return pair.first, pair.second


def _cell(
    key: tuple[str, Order], sample: Numbers, found: dict[tuple[str, Order], Estimate], beaten: dict[str, Pair]
) -> Cell:
    method, order = key
    known = np.sort(sample[~np.isnan(sample)])  # sorted, so that the order of documents changes no digit
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


def _sanity(values: _Values, pairs: Sequence[Pair], metric: AuditedMetric) -> tuple[Sanity, ...]:
    methods = [method for method in _scored(values) if method != FLOOR]
    turned = [method for method in methods if (method, "reversed") in values]
    differences = [values[method, "given"] - values[method, "reversed"] for method in turned]
    against = dict(zip(turned, contrasts(differences, [metric.greater_is_better] * len(differences)), strict=True))
    return tuple(Sanity(method, against.get(method), _floor(method, pairs)) for method in methods)


def _floor(method: str, pairs: Sequence[Pair]) -> Contrast | None:
    """The contrast with the floor, the method first."""
    for pair in pairs:
        if _names(pair) == (method, FLOOR):
            return pair.contrast
        if _names(pair) == (FLOOR, method):
            return turned_around(pair.contrast)
    return None


def _best(values: _Values, pairs: Sequence[Pair], metric: AuditedMetric) -> tuple[str, ...]:
    """The method of the best mean first, then those that it is not better than."""
    sign = -1 if metric.greater_is_better else 1
    methods = sorted(_scored(values), key=lambda method: sign * float(np.nanmean(np.sort(values[method, "given"]))))
    beaten = {pair.first if pair.better == pair.second else pair.second for pair in pairs if pair.better in methods[:1]}
    return tuple(method for method in methods if method not in beaten)


@dataclass(frozen=True)
class AttackStatistics:
    """Counts of documents, and shares and means over them, NaN where there is none to count.

    `skipped` are those the model was wrong about from the start. `perturbed` is the mean share of words that successful
    attacks changed, `words` the mean length of all documents, `queries` the mean of those attacked.
    """

    successes: int
    failures: int
    skipped: int
    original_accuracy: float
    accuracy_under_attack: float
    success_rate: float
    perturbed: float
    words: float
    queries: float


def attack_statistics(values: Numbers, details: Mapping[str, Numbers]) -> AttackStatistics:
    """The statistics of the metric `attack`, from its values [N] and its details [N] by name.

    Documents without a known label are left out: their detail `right` is NaN.
    """
    known = ~np.isnan(details["right"])
    successes, failures = int((values[known] == 1).sum()), int((values[known] == 0).sum())
    total, attacked = int(known.sum()), successes + failures
    return AttackStatistics(
        successes=successes,
        failures=failures,
        skipped=total - attacked,
        original_accuracy=_share(attacked, total),
        accuracy_under_attack=_share(failures, total),
        success_rate=_share(successes, attacked),
        perturbed=_mean(details["perturbed"], values == 1),
        words=_mean(details["words"], known),
        queries=_mean(details["queries"], ~np.isnan(values)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan


def _mean(numbers: Numbers, here: np.ndarray) -> float:
    return float(numbers[here].mean()) if here.any() else np.nan


def summarise(audit: Audit) -> Summary:
    """All statistics of an audit, and what to take from them in words."""
    check_audit(audit)
    tables = tuple(table(audit, metric) for metric in audit.metrics)
    removed = removals(audit, tables)
    return Summary(
        model=audit.model_name,
        data=audit.data,
        documents=len(audit.documents),
        tables=tables,
        parts=breakdown(audit),
        curves=curves(audit),
        flips=flip_curves(audit),
        removals=removed,
        agreements=(*agreements(audit), *([audit.likeness] if audit.likeness else [])),
        verdict=verdicts(audit, tables, removed),
        warnings=cautions(audit, tables),
    )
