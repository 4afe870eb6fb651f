"""Numbers as dots with their intervals on strips, to stand in the rows of a table: the quickest way to see overlaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veridical.report.plots.canvas import Axis, Frame, segment, text
from veridical.report.plots.series import LINE, SOFT, Style, marker, styles

_WIDTH, _HEIGHT, _EDGE = 250.0, 20.0, 14.0


@dataclass(frozen=True)
class Dot:
    """A named number with its interval; NaN is undefined."""

    name: str
    mean: float
    low: float
    high: float


def dots(rows: Sequence[Dot], floor: str | None = None, line: float = math.nan) -> tuple[str, list[str]]:
    """The axis to stand over the strips, and a strip for each row; all share one scale, and a dotted line at `line`.

    They are hidden from those who hear the page: the numbers stand in the same row. `floor` is drawn quietly.
    """
    ends = [end for row in rows for end in (row.low, row.high, row.mean, line) if math.isfinite(end)]
    axis = Axis("", min(ends, default=0), max(ends, default=1)).rounded()
    frame = Frame(_EDGE, 0, _WIDTH - _EDGE, _HEIGHT, axis, Axis("", 0, 1))
    style = styles([row.name for row in rows], floor)
    under = _columns(frame) + _reference(frame, line)
    ticks = "".join(text(name, frame.across(at), 14, "middle", SOFT) for at, name in axis.ticks()) if ends else ""
    return _svg(ticks), [_svg(under + _dot(frame, row, style[row.name])) for row in rows]


def _columns(frame: Frame) -> str:
    return "".join(segment(frame.across(at), 0, frame.across(at), _HEIGHT, LINE) for at, _ in frame.x.ticks())


def _reference(frame: Frame, place: float) -> str:
    if not math.isfinite(place):
        return ""
    return f'<path d="M{frame.across(place):.1f} 0V{_HEIGHT:.0f}" stroke="{SOFT}" stroke-dasharray="2 3"/>'


def _dot(frame: Frame, row: Dot, style: Style) -> str:
    if not math.isfinite(row.mean):
        return ""
    y, dot = _HEIGHT / 2, marker(style, frame.across(row.mean), _HEIGHT / 2, 4.2)
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return dot
    low, high = frame.across(row.low), frame.across(row.high)
    caps = "".join(segment(end, y - 4, end, y + 4, style.colour, 1.5) for end in (low, high))
    return segment(low, y, high, y, style.colour, 1.8) + caps + dot


def _svg(inside: str) -> str:
    size = f'viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}"'
    return f'<svg class="strip" aria-hidden="true" {size} font-size="11" font-family="inherit">{inside}</svg>'
