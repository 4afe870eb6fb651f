"""A canvas in SVG: axes, ticks, marks; every plot is drawn on one."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from veridical.report.style import INK, LINE, PAPER, SOFT, escaped

# Series differ by colour, dash and marker, so that a grey print or a colour-blind eye loses nothing. The colours are
# those of Okabe and Ito, without the yellow, which vanishes on white paper.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4")
_SHAPES = ("circle", "square", "triangle", "diamond", "down", "cross", "open square", "open triangle")


@dataclass(frozen=True)
class Style:
    """How one series is drawn."""

    colour: str
    dash: str
    shape: str


FLOOR_STYLE = Style(SOFT, "1 4", "open circle")
"""For the series that knows nothing: grey and dotted, so that it steps back behind the others."""


def styles(names: Sequence[str], floor: str | None = None) -> dict[str, Style]:
    """A style for each name, the same for the same list; `floor` gets the quiet one."""
    others = [name for name in names if name != floor]
    found = {name: _style(index) for index, name in enumerate(others)}
    return {name: FLOOR_STYLE if name == floor else found[name] for name in names}


def _style(index: int) -> Style:
    return Style(_COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)], _SHAPES[index % len(_SHAPES)])


def marker(style: Style, x: float, y: float, size: float = 3.6) -> str:
    """The marker of a series around a point; open ones have the paper inside."""
    name = style.shape.removeprefix("open ")
    inside = style.colour if name == style.shape else PAPER
    paint = f'fill="{inside}" stroke="{style.colour}"'
    if name == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" {paint}/>'
    points = (f"{x + dx * size:.1f} {y + dy * size:.1f}" for dx, dy in _OUTLINES[name])
    return f'<path d="M{"L".join(points)}Z" {paint}/>'


_OUTLINES = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.15), (1.1, 0.85), (-1.1, 0.85)),
    "down": ((0, 1.15), (1.1, -0.85), (-1.1, -0.85)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "cross": ((0, 0), (-1, -1), (0, 0), (1, -1), (0, 0), (1, 1), (0, 0), (-1, 1)),
}


_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_NEAR = 0.6  # of a step: further away, the plot would be mostly empty


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, about so many of them."""
    if not high > low:
        return [low]
    step = _step((high - low) / max(1, about - 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def rounded(low: float, high: float, about: int = 5) -> tuple[float, float]:
    """The range, never empty, with each end moved out to a round number where one is near."""
    if not high > low:
        margin = abs(low) * 0.5 or 0.5
        low, high = low - margin, high + margin
    step = _step((high - low) / max(1, about - 1))
    under, over = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    near = _NEAR * step
    return under if low - under <= near else low, over if over - high <= near else high


def labels(numbers: list[float], percent: bool = False) -> list[str]:
    """The numbers of an axis, all with as many digits as the finest needs."""
    scaled = [number * 100 for number in numbers] if percent else numbers
    digits = max((_digits(number) for number in scaled), default=0)
    return [f"{number + 0.0:,.{digits}f}{'%' if percent else ''}".replace("-", "\u2212") for number in scaled]


def _step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(step * size for step in _STEPS if step * size >= rough * (1 - 1e-9))


def _digits(number: float) -> int:
    return next((digits for digits in range(6) if math.isclose(number, round(number, digits), abs_tol=1e-9)), 6)


EMPTY = "There is nothing to draw: no number is defined."


@dataclass(frozen=True)
class Axis:
    """One axis: its title, its range, and whether its numbers are shares to be written as percentages."""

    title: str
    low: float
    high: float
    percent: bool = False

    def ticks(self, about: int = 5) -> list[tuple[float, str]]:
        """Where ticks go, and what is written there."""
        places = ticks(self.low, self.high, about)
        return list(zip(places, labels(places, self.percent), strict=True))

    def rounded(self) -> Axis:
        """The same, reaching to round numbers."""
        return Axis(self.title, *rounded(self.low, self.high), self.percent)


@dataclass(frozen=True)
class PlotArea:
    """The inside of a plot: a rectangle of the paper, with an axis to the right and one upwards."""

    left: float
    top: float
    right: float
    bottom: float
    x: Axis
    y: Axis

    def across(self, value: float) -> float:
        """Where a number lies from left to right."""
        return self.left + _share(value, self.x) * (self.right - self.left)

    def down(self, value: float) -> float:
        """Where a number lies from top to bottom."""
        return self.bottom - _share(value, self.y) * (self.bottom - self.top)

    def axes(self) -> str:
        """Grid lines, ticks and titles."""
        parts = [self._level(place, name) for place, name in self.y.ticks()]
        parts += [self._column(place, name) for place, name in self.x.ticks(6)]
        middle = (self.left + self.right) / 2
        parts.append(text(self.x.title, middle, self.bottom + 36, "middle", SOFT))
        parts.append(text(self.y.title, 4, self.top - 14, "start", SOFT))
        return "".join(parts)

    def _level(self, place: float, name: str) -> str:
        y = self.down(place)
        return segment(self.left, y, self.right, y, LINE) + text(name, self.left - 8, y + 4, "end", SOFT)

    def _column(self, place: float, name: str) -> str:
        x = self.across(place)
        tick = segment(x, self.bottom, x, self.bottom + 4, SOFT)
        return tick + text(name, x, self.bottom + 18, "middle", SOFT)


def svg(width: float, height: float, title: str, told: str, inside: str) -> Markup:
    """The drawing, with what it shows in words for those who do not see it."""
    return Markup(
        f'<svg role="img" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'font-size="12" font-family="inherit"><title>{escaped(title)}</title><desc>{escaped(told)}</desc>'
        f"{inside}</svg>"
    )


def nothing(title: str, width: float = 560) -> Markup:
    """A plot without any number says so."""
    return svg(width, 60, title, EMPTY, text(EMPTY, 4, 34, "start", SOFT))


def text(words: str, x: float, y: float, anchor: str = "start", colour: str = INK, more: str = "") -> str:
    """Words at a place; `more` are further attributes."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{more}>{escaped(words)}</text>'


def segment(x: float, y: float, to_x: float, to_y: float, colour: str, width: float = 1) -> str:
    """A straight line."""
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"/>'


def shortened(words: str, limit: int = 26) -> str:
    """The words, cut in the middle where both ends tell names with settings apart."""
    if len(words) <= limit:
        return words
    tail = limit // 3
    return f"{words[: limit - tail - 1]}…{words[-tail:]}"


def breadth(words: str) -> float:
    """About how wide the words are at the size that plots write in."""
    return sum(12.0 if unicodedata.east_asian_width(sign) in "WF" else 6.7 for sign in words)


def _share(value: float, axis: Axis) -> float:
    return (value - axis.low) / (axis.high - axis.low) if axis.high > axis.low else 0.5
