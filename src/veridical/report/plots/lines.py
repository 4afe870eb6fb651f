"""Curves and steps of several methods in one plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from veridical.report.colours import LINE
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

_WIDTH, _HEIGHT = 560.0, 320.0
_LABEL = 15.0  # the height of a name beside its line
_MARKED = (0.25, 0.5, 0.75, 1.0)  # where stairs get their markers: at every step they would hide the line


@dataclass(frozen=True)
class Point:
    """One step of a line: a number, and the interval around it where there is one."""

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan

    @property
    def spread(self) -> bool:
        """Whether it has an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


Lines = Mapping[str, Sequence[Point]]


def lines(series: Lines, title: str, x: str, y: str, floor: str | None = None, percent: bool = False) -> Markup:
    """Draw a line per series. `x` and `y` are the axes' titles; `percent` says that steps are shares.

    Points without a number are left out. `floor` names the series that is drawn quietly.
    """
    drawn = _finite(series)
    if not drawn:
        return nothing(title)
    frame = _frame(drawn, Axis(x, *_widths(drawn), percent), Axis(y, *_heights(drawn)).rounded())
    style = styles(list(series), floor)
    bands = "".join(_band(frame, points, style[name]) for name, points in drawn.items())
    paths = "".join(_line(frame, name, points, style[name]) for name, points in drawn.items())
    ends = {name: (frame.across(points[-1].x), frame.down(points[-1].y)) for name, points in drawn.items()}
    return svg(_WIDTH, _HEIGHT, title, _told(drawn, x), frame.axes() + bands + paths + _names(frame, ends, style))


def steps(series: Lines, title: str, x: str, y: str, floor: str | None = None) -> Markup:
    """Draw stairs from 0 to 1: what share (`y`) is reached at which share (`x`)."""
    drawn = _finite(series)
    if not drawn:
        return nothing(title)
    frame = _frame(drawn, Axis(x, 0, 1, percent=True), Axis(y, 0, 1, percent=True))
    style = styles(list(series), floor)
    paths = "".join(_stairs(frame, name, points, style[name]) for name, points in drawn.items())
    ends = {name: (frame.right, frame.down(points[-1].y)) for name, points in drawn.items()}
    return svg(_WIDTH, _HEIGHT, title, _told(drawn, x), frame.axes() + paths + _names(frame, ends, style))


def _finite(series: Lines) -> dict[str, list[Point]]:
    kept = {name: [point for point in points if math.isfinite(point.y)] for name, points in series.items()}
    return {name: points for name, points in kept.items() if points}


def _widths(drawn: Lines) -> tuple[float, float]:
    places = [point.x for points in drawn.values() for point in points]
    return min(0.0, *places), max(places)


def _heights(drawn: Lines) -> tuple[float, float]:
    points = [point for points in drawn.values() for point in points]
    ends = [end for point in points for end in ((point.low, point.high) if point.spread else (point.y, point.y))]
    return min(0.0, *ends), max(ends)


def _frame(drawn: Lines, x: Axis, y: Axis) -> PlotArea:
    margin = 34 + max(breadth(shortened(name)) for name in drawn)
    return PlotArea(44, 36, _WIDTH - margin, _HEIGHT - 46, x, y)


def _band(frame: PlotArea, points: Sequence[Point], style: Style) -> str:
    spread = [point for point in points if point.spread]
    if len(spread) < 2:
        return ""
    upper = [f"{frame.across(point.x):.1f} {frame.down(point.high):.1f}" for point in spread]
    lower = [f"{frame.across(point.x):.1f} {frame.down(point.low):.1f}" for point in reversed(spread)]
    return f'<path d="M{"L".join(upper + lower)}Z" fill="{style.colour}" fill-opacity=".11"/>'


def _line(frame: PlotArea, name: str, points: Sequence[Point], style: Style) -> str:
    places = [(frame.across(point.x), frame.down(point.y)) for point in points]
    path = "M" + "L".join(f"{across:.1f} {down:.1f}" for across, down in places)
    marks = "".join(
        f"<g><title>{escaped(_point(name, point))}</title>{marker(style, *place)}</g>"
        for point, place in zip(points, places, strict=True)
    )
    return _stroke(path, style) + marks


def _stairs(frame: PlotArea, name: str, points: Sequence[Point], style: Style) -> str:
    path = f"M{frame.across(points[0].x):.1f} {frame.down(points[0].y):.1f}"
    path += "".join(f"H{frame.across(point.x):.1f}V{frame.down(point.y):.1f}" for point in points[1:])
    path += f"H{frame.across(1.0):.1f}"
    marks = "".join(marker(style, frame.across(at), frame.down(_reached(points, at))) for at in _MARKED)
    return f"<g><title>{escaped(name)}</title>{_stroke(path, style)}{marks}</g>"


def _reached(points: Sequence[Point], at: float) -> float:
    """How high the stairs are at a place."""
    return next((point.y for point in reversed(points) if point.x <= at), points[0].y)


def _stroke(path: str, style: Style) -> str:
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    return f'<path d="{path}" fill="none" stroke="{style.colour}" stroke-width="1.8" stroke-linejoin="round"{dash}/>'


def _names(frame: PlotArea, ends: Mapping[str, tuple[float, float]], style: Mapping[str, Style]) -> str:
    """The name of each line beside its end, moved up or down where names would touch."""
    order = sorted(ends, key=lambda name: ends[name][1])
    places = apart([ends[name][1] for name in order], _LABEL, frame.top - 4, frame.bottom + 4)
    return "".join(
        _name(frame, name, ends[name], place, style[name]) for name, place in zip(order, places, strict=True)
    )


def _name(frame: PlotArea, name: str, end: tuple[float, float], place: float, style: Style) -> str:
    leader = segment(end[0] + 5, end[1], frame.right + 12, place, LINE)
    return leader + marker(style, frame.right + 18, place, 3.2) + text(shortened(name), frame.right + 26, place + 4)


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Sorted places moved as little as needed to lie `gap` apart, within `low` and `high` if there is room.

    Names that touch become a block around their common middle, blocks that touch merge.
    """
    blocks: list[tuple[float, int]] = []  # the sum of wanted starts, and how many
    for place in places:
        blocks.append((place, 1))
        while len(blocks) > 1 and _start(*blocks[-2], gap) + blocks[-2][1] * gap > _start(*blocks[-1], gap):
            (wanted, count), (more, others) = blocks[-2:]
            blocks[-2:] = [(wanted + more, count + others)]
    spread = [_start(wanted, count, gap) + gap * index for wanted, count in blocks for index in range(count)]
    below = [min(place, high - gap * (len(spread) - 1 - index)) for index, place in enumerate(spread)]
    return [max(place, low + gap * index) for index, place in enumerate(below)]


def _start(wanted: float, count: int, gap: float) -> float:
    return wanted / count - gap * (count - 1) / 2


def _point(name: str, point: Point) -> str:
    around = f" ({point.low:.3g} to {point.high:.3g})" if point.spread else ""
    return f"{name}: {point.y:.3g}{around} at {point.x:.3g}"


def _told(drawn: Lines, x: str) -> str:
    ends = (f"{name} goes from {points[0].y:.3g} to {points[-1].y:.3g}" for name, points in drawn.items())
    return f"By {x}: {'; '.join(ends)}."
