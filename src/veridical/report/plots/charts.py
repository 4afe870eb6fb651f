"""Dots with intervals in a table, and heat maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from veridical.report.colours import LINE, SOFT
from veridical.report.markup import escaped
from veridical.report.plots.canvas import (
    Axis,
    PlotArea,
    Style,
    breadth,
    marker,
    nothing,
    segment,
    shortened,
    styles,
    svg,
    text,
)

_WIDTH, _HEIGHT, _EDGE = 250.0, 20.0, 14.0


@dataclass(frozen=True)
class Dot:
    """A named number with its interval; NaN is undefined."""

    name: str
    mean: float
    low: float
    high: float


def dots(rows: Sequence[Dot], floor: str | None = None, line: float = math.nan) -> tuple[Markup, list[Markup]]:
    """The axis to stand over the strips, and a strip for each row; all share one scale, and a dotted line at `line`.

    They are hidden from those who hear the page: the numbers stand in the same row. `floor` is drawn quietly.
    """
    ends = [end for row in rows for end in (row.low, row.high, row.mean, line) if math.isfinite(end)]
    axis = Axis("", min(ends, default=0), max(ends, default=1)).rounded()
    frame = PlotArea(_EDGE, 0, _WIDTH - _EDGE, _HEIGHT, axis, Axis("", 0, 1))
    style = styles([row.name for row in rows], floor)
    under = _columns(frame) + _reference(frame, line)
    ticks = "".join(text(name, frame.across(at), 14, "middle", SOFT) for at, name in axis.ticks()) if ends else ""
    return _svg(ticks), [_svg(under + _dot(frame, row, style[row.name])) for row in rows]


def _columns(frame: PlotArea) -> str:
    return "".join(segment(frame.across(at), 0, frame.across(at), _HEIGHT, LINE) for at, _ in frame.x.ticks())


def _reference(frame: PlotArea, place: float) -> str:
    if not math.isfinite(place):
        return ""
    return f'<path d="M{frame.across(place):.1f} 0V{_HEIGHT:.0f}" stroke="{SOFT}" stroke-dasharray="2 3"/>'


def _dot(frame: PlotArea, row: Dot, style: Style) -> str:
    if not math.isfinite(row.mean):
        return ""
    y, dot = _HEIGHT / 2, marker(style, frame.across(row.mean), _HEIGHT / 2, 4.2)
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return dot
    low, high = frame.across(row.low), frame.across(row.high)
    caps = "".join(segment(end, y - 4, end, y + 4, style.colour, 1.5) for end in (low, high))
    return segment(low, y, high, y, style.colour, 1.8) + caps + dot


def _svg(inside: str) -> Markup:
    size = f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}"'
    return Markup(f'<svg class="strip" aria-hidden="true" {size} font-size="11" font-family="inherit">{inside}</svg>')


_WIDE, _HIGH = 58.0, 32.0
_DEEPEST = 0.6  # deeper, and the ink on it is hard to read


def heat(names: Sequence[str], values: Sequence[Sequence[float]], title: str) -> Markup:
    """Draw a matrix of numbers from 0 to 1; NaN is undefined. Columns are numbered as the rows are named."""
    if not names or not any(math.isfinite(value) for row in values for value in row):
        return nothing(title)
    left = 40 + max(breadth(shortened(name)) for name in names)
    inside = "".join(
        text(f"{shortened(name)}  {index + 1}", left - 10, 30 + _HIGH * (index + 0.5) + 4, "end")
        + text(str(index + 1), left + _WIDE * (index + 0.5), 20, "middle", SOFT)
        for index, name in enumerate(names)
    )
    inside += "".join(
        _cell(left + _WIDE * column, 30 + _HIGH * row, value, f"{names[row]}, {names[column]}")
        for row, found in enumerate(values)
        for column, value in enumerate(found)
    )
    return svg(left + _WIDE * len(names) + 4, 34 + _HIGH * len(names), title, _told(names, values), inside)


def _cell(x: float, y: float, value: float, pair: str) -> str:
    known = math.isfinite(value)
    depth = _DEEPEST * min(1.0, max(0.0, value)) if known else 0.0
    box = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{_WIDE - 2:.1f}" height="{_HIGH - 2:.1f}" rx="3"'
    number = text(_written(value), x + _WIDE / 2, y + _HIGH / 2 + 4, "middle")
    rect = f'<rect {box} fill="#0072b2" fill-opacity="{depth:.2f}" stroke="{LINE}"/>'
    return f"<g><title>{escaped(pair)}: {_written(value)}</title>{rect}{number}</g>"


def _written(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "n/a"


def _told(names: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    pairs = [
        f"{names[row]} and {names[column]} {_written(values[row][column])}"
        for row in range(len(names))
        for column in range(row)
    ]
    return "; ".join(pairs) + "."
