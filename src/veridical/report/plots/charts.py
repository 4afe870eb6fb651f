"""Plots: curves and steps of several methods, dots with intervals, heat maps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

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
from veridical.report.style import LINE, SOFT, escaped

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


_STRIP_WIDTH, _STRIP_HEIGHT, _EDGE = 250.0, 20.0, 14.0


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
    frame = PlotArea(_EDGE, 0, _STRIP_WIDTH - _EDGE, _STRIP_HEIGHT, axis, Axis("", 0, 1))
    style = styles([row.name for row in rows], floor)
    under = _columns(frame) + _reference(frame, line)
    ticks = "".join(text(name, frame.across(at), 14, "middle", SOFT) for at, name in axis.ticks()) if ends else ""
    return _svg(ticks), [_svg(under + _dot(frame, row, style[row.name])) for row in rows]


def _columns(frame: PlotArea) -> str:
    return "".join(segment(frame.across(at), 0, frame.across(at), _STRIP_HEIGHT, LINE) for at, _ in frame.x.ticks())


def _reference(frame: PlotArea, place: float) -> str:
    if not math.isfinite(place):
        return ""
    return f'<path d="M{frame.across(place):.1f} 0V{_STRIP_HEIGHT:.0f}" stroke="{SOFT}" stroke-dasharray="2 3"/>'


def _dot(frame: PlotArea, row: Dot, style: Style) -> str:
    if not math.isfinite(row.mean):
        return ""
    y, dot = _STRIP_HEIGHT / 2, marker(style, frame.across(row.mean), _STRIP_HEIGHT / 2, 4.2)
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return dot
    low, high = frame.across(row.low), frame.across(row.high)
    caps = "".join(segment(end, y - 4, end, y + 4, style.colour, 1.5) for end in (low, high))
    return segment(low, y, high, y, style.colour, 1.8) + caps + dot


def _svg(inside: str) -> Markup:
    size = (
        f'viewBox="0 0 {_STRIP_WIDTH:.0f} {_STRIP_HEIGHT:.0f}" width="{_STRIP_WIDTH:.0f}" height="{_STRIP_HEIGHT:.0f}"'
    )
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
    return svg(left + _WIDE * len(names) + 4, 34 + _HIGH * len(names), title, _told_heat(names, values), inside)


def grid(
    rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], title: str, told: str
) -> Markup:
    """Draw weights by row and column, as those of heads by layer: the deeper the greater, and 0 is white."""
    greatest = max((abs(value) for row in values for value in row if math.isfinite(value)), default=0.0)
    if not greatest:
        return nothing(title)
    left = 20 + max(breadth(name) for name in rows)
    names = [text(name, left - 10, 30 + _HIGH * (at + 0.5) + 4, "end") for at, name in enumerate(rows)]
    names += [text(name, left + _WIDE * (at + 0.5), 20, "middle", SOFT) for at, name in enumerate(columns)]
    cells = [
        _cell(left + _WIDE * column, 30 + _HIGH * row, value, f"{rows[row]}, {columns[column]}", greatest)
        for row, found in enumerate(values)
        for column, value in enumerate(found)
    ]
    return svg(left + _WIDE * len(columns) + 4, 34 + _HIGH * len(rows), title, told, "".join(names + cells))


def _cell(x: float, y: float, value: float, pair: str, greatest: float = 1.0) -> str:
    known = math.isfinite(value)
    depth = _DEEPEST * min(1.0, max(0.0, value / greatest)) if known else 0.0
    box = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{_WIDE - 2:.1f}" height="{_HIGH - 2:.1f}" rx="3"'
    number = text(_written(value), x + _WIDE / 2, y + _HIGH / 2 + 4, "middle")
    rect = f'<rect {box} fill="#0072b2" fill-opacity="{depth:.2f}" stroke="{LINE}"/>'
    return f"<g><title>{escaped(pair)}: {_written(value)}</title>{rect}{number}</g>"


def _written(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "n/a"


def _told_heat(names: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    pairs = [
        f"{names[row]} and {names[column]} {_written(values[row][column])}"
        for row in range(len(names))
        for column in range(row)
    ]
    return "; ".join(pairs) + "."
