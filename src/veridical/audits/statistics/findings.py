"""What the statistics of an audit say, as plain values: numbers, names and sentences, nothing to compute.

Numbers that do not exist, such as the mean of nothing, are NaN; `plain` makes JSON of any of these values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

from veridical.audits.record import AuditedMetric, Order
from veridical.core.component import unknown

ALPHA = 0.05
"""What counts as significant, after correction. Intervals cover 1 - ALPHA."""

Outcome = Literal["first better", "second better", "cannot tell"]


@dataclass(frozen=True)
class Estimate:
    """A mean of `n` documents with its 95% interval; without two documents there is no interval."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Contrast:
    """Two things measured on the same `n` documents: first minus second, in the unit of the metric.

    `p` is of the paired signed-rank test, `adjusted` the same after Holm's correction over the whole table. `tested` of
    the documents differ at all. `rank_biserial` is between -1 and 1, `cohen` the mean difference in standard deviations
    of the differences. The `verdict` knows the metric's direction. When it cannot tell, `needed` documents would give
    80% power at this effect, None if that is more than anyone has (`samples.MOST`).
    """

    mean: float
    low: float
    high: float
    n: int
    tested: int
    p: float
    adjusted: float
    rank_biserial: float
    cohen: float
    verdict: Outcome
    needed: int | None = None

    @property
    def second(self) -> str:
        """What the verdict says of the second: better, worse, or cannot tell."""
        return {"first better": "worse", "second better": "better"}.get(self.verdict, self.verdict)


@dataclass(frozen=True)
class Cell:
    """A metric's mean for one method and order over the `scored` documents; on `undefined` ones it says nothing.

    `beats_floor` says whether the method is significantly better than `random`, None where that was not asked: for the
    floor itself and for reversed orders. `reversed_mean` is the mean of the same method's reversed order.
    """

    method: str
    order: Order
    mean: float
    low: float
    high: float
    std: float
    scored: int
    undefined: int
    beats_floor: bool | None = None
    reversed_mean: float = math.nan


@dataclass(frozen=True)
class Pair:
    """Two methods by one metric."""

    first: str
    second: str
    contrast: Contrast

    @property
    def better(self) -> str | None:
        """The better method, None when it cannot be told."""
        return {"first better": self.first, "second better": self.second}.get(self.contrast.verdict)


@dataclass(frozen=True)
class Sanity:
    """Does the metric tell a method (first) from its reversed order, and from chance (second)? None: not measured."""

    method: str
    reversed: Contrast | None
    floor: Contrast | None


@dataclass(frozen=True)
class MetricTable:
    """All about one metric: a cell per method and order, each pair of methods in the given order, and what is best.

    `best` are the method with the best mean and those that cannot be told apart from it; empty if nothing was scored.
    """

    metric: str
    cells: tuple[Cell, ...]
    pairs: tuple[Pair, ...]
    sanity: tuple[Sanity, ...]
    best: tuple[str, ...]

    def cell(self, method: str, order: Order = "given") -> Cell | None:
        """The cell of a method, if it was measured."""
        return next((each for each in self.cells if (each.method, each.order) == (method, order)), None)


@dataclass(frozen=True)
class Part:
    """The mean over the documents of one class, or of a third of the lengths: `group` is `pos`, or `3 to 12 units`."""

    metric: str
    method: str
    by: Literal["class", "length"]
    group: str
    estimate: Estimate


@dataclass(frozen=True)
class Curve:
    """The mean of a metric at each of its steps, words in the given order."""

    metric: str
    method: str
    steps: tuple[float, ...]
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True)
class FlipCurve:
    """Which share of `n` documents has `flipped` when `shares` of their words are erased: a curve of steps."""

    metric: str
    method: str
    shares: tuple[float, ...]
    flipped: tuple[float, ...]
    n: int


@dataclass(frozen=True)
class Ranking:
    """Methods under one eraser, the best first, with their means; the floor is not ranked."""

    metric: str
    eraser: str
    methods: tuple[str, ...]
    means: tuple[float, ...]


@dataclass(frozen=True)
class Removal:
    """One metric under several erasers: does the ranking of methods survive another way of taking words away?

    `kendall` [rankings, rankings] is tau between the rankings, in their order. `best` are the methods that are best, or
    cannot be told from the best, under every eraser; `survives` says that the very same method is on top of all.
    """

    kind: str
    rankings: tuple[Ranking, ...]
    kendall: tuple[tuple[float, ...], ...]
    best: tuple[str, ...]
    survives: bool


@dataclass(frozen=True)
class Agreement:
    """How alike methods are, two by two: `values` [methods, methods] from 0 to 1, NaN where unknown."""

    name: str
    meaning: str
    methods: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, repr=False)
class Summary:
    """The statistics of an audit. `verdict` says in a few sentences what to take from them, `warnings` what not to."""

    model: str
    data: str
    documents: int
    tables: tuple[MetricTable, ...]
    parts: tuple[Part, ...]
    curves: tuple[Curve, ...]
    flips: tuple[FlipCurve, ...]
    removals: tuple[Removal, ...]
    agreements: tuple[Agreement, ...]
    verdict: tuple[str, ...]
    warnings: tuple[str, ...]

    def table(self, metric: str) -> MetricTable:
        """The table of a metric, or an error with the nearest one."""
        known = {each.metric: each for each in self.tables}
        if metric not in known:
            raise unknown("metric of this summary", metric, known)
        return known[metric]

    def __repr__(self) -> str:
        counts = f"{self.documents:,} documents, {len(self.tables)} metrics"
        return f"Summary({self.model} on {self.data}: {counts})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.verdict])


@dataclass(frozen=True)
class Difference:
    """A method judged by a metric on the same documents with two models."""

    metric: str
    method: str
    first: Estimate
    second: Estimate
    contrast: Contrast


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two models by the same metrics and methods on the `documents` they share.

    `metrics` are those compared. `left_out` says of each metric and method that cannot be compared why. `likeness` is
    how alike the explanations of the two models are, by method. `verdict` and `warnings` are for people.
    """

    first: str
    second: str
    data: str
    documents: int
    metrics: tuple[AuditedMetric, ...]
    differences: tuple[Difference, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    likeness: Mapping[str, float] = field(default_factory=dict)
    verdict: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts = f"{self.documents:,} shared documents, {len(self.differences)} differences"
        return f"Comparison({self.first} and {self.second} on {self.data}: {counts})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.verdict])


def plain(value: Any) -> Any:
    """Any of these values as JSON can hold it: numbers that do not exist become null."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
