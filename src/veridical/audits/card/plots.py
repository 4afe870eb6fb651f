"""What the plots of a card show: scores with intervals, differences, curves, flips, and how alike methods are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from veridical.audits.card.sections import methods_of
from veridical.audits.numbers import arrow, printed, unit
from veridical.audits.record import FLOOR, Audit, AuditedMetric
from veridical.audits.statistics.findings import (
    Agreement,
    Cell,
    Contrast,
    Curve,
    Estimate,
    FlipCurve,
    MetricTable,
    Sanity,
    Summary,
)
from veridical.report.plots import Dot, Point, dots, heat, lines, steps

Drawn = TypeVar("Drawn", Curve, FlipCurve)


@dataclass(frozen=True)
class MetricRow:
    """A method in the table of a metric: its numbers, the same as a dot on a strip, and how it stands its checks."""

    cell: Cell
    strip: Markup
    check: Sanity | None

    @property
    def fails(self) -> bool:
        """Whether the metric does not prefer the method's order to the same order reversed."""
        contrast = self.check.reversed if self.check else None
        return contrast is not None and contrast.verdict != "first better"


@dataclass(frozen=True)
class MetricBlock:
    """One metric by itself; `axis` stands over the strips of its rows."""

    metric: AuditedMetric
    table: MetricTable
    axis: Markup
    rows: tuple[MetricRow, ...]


@dataclass(frozen=True)
class Figure:
    """A plot and its caption: a name, a few `words`, and the metric whose spec tells how its numbers were made."""

    drawing: Markup
    name: str
    sign: str = ""
    words: str = ""
    metric: str | None = None


def dot(name: str, found: Cell | Estimate | Contrast, metric: AuditedMetric) -> Dot:
    """A mean with its interval as it is drawn: in the unit that the metric is printed in."""
    return Dot(name, printed(found.mean, metric), printed(found.low, metric), printed(found.high, metric))


def metric_blocks(audit: Audit, summary: Summary) -> list[MetricBlock]:
    """Each metric by itself."""
    return [_metric_block(audit, table) for table in summary.tables]


def _metric_block(audit: Audit, table: MetricTable) -> MetricBlock:
    metric, checks = audit.metric(table.metric), {each.method: each for each in table.sanity}
    cells = [cell for method in methods_of(audit) if (cell := table.cell(method)) is not None]
    floor = [printed(cell.mean, metric) for cell in cells if cell.method == FLOOR]
    axis, strips = dots([dot(cell.method, cell, metric) for cell in cells], FLOOR, *floor)
    rows = (MetricRow(cell, strip, checks.get(cell.method)) for cell, strip in zip(cells, strips, strict=True))
    return MetricBlock(metric, table, axis, tuple(rows))


def curve_figures(audit: Audit, summary: Summary) -> list[Figure]:
    """A plot of each metric that has steps, and of each that waits for the decision to flip."""
    curves = [_curve(audit.metric(name), found) for name, found in _by_metric(summary.curves).items()]
    return curves + [_flips(name, found) for name, found in _by_metric(summary.flips).items()]


def _by_metric(found: Sequence[Drawn]) -> Mapping[str, list[Drawn]]:
    groups: dict[str, list[Drawn]] = {}
    for each in found:
        groups.setdefault(each.metric, []).append(each)
    return groups


def _curve(metric: AuditedMetric, found: Sequence[Curve]) -> Figure:
    shares = max(metric.steps, default=0.0) <= 1
    x = "share of words" if shares else "words"
    series = {each.method: _points(each, metric) for each in found}
    drawn = lines(series, f"{metric.name} by {x}", x, f"{metric.kind}{unit(metric)}", FLOOR, percent=shares)
    return Figure(drawn, metric.name, sign=arrow(metric), metric=metric.name)


def _points(curve: Curve, metric: AuditedMetric) -> list[Point]:
    found = zip(curve.steps, curve.estimates, strict=True)
    return [Point(step, *(printed(each, metric) for each in (at.mean, at.low, at.high))) for step, at in found]


def _flips(metric: str, found: Sequence[FlipCurve]) -> Figure:
    series = {
        each.method: [Point(x, y) for x, y in zip(each.shares, each.flipped, strict=True)] for each in found if each.n
    }
    drawn = steps(series, f"{metric}: decisions flipped", "share of words erased", "decisions flipped", FLOOR)
    return Figure(drawn, metric, words="the earlier, the better", metric=metric)


def agreement_figures(audit: Audit, summary: Summary) -> list[Figure]:
    """A heat map of each kind of likeness between methods."""
    return [_agreement(audit, each) for each in summary.agreements]


def _agreement(audit: Audit, found: Agreement) -> Figure:
    metric = found.name if any(each.name == found.name for each in audit.metrics) else None
    return Figure(heat(found.methods, found.values, found.name), found.name, words=found.meaning, metric=metric)
