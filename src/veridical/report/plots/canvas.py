"""What all plots share: the SVG around them, axes, text, and the way from numbers to places on the paper.

A plot is a string of SVG to put inside a page: no scripts, no outside fonts, colours that follow the page's light or
dark paper. Everything written in it is escaped.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from veridical.core.drawing import escaped
from veridical.report.plots.series import INK, LINE, SOFT
from veridical.report.plots.ticks import labels, rounded, ticks

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
class Frame:
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


def svg(width: float, height: float, title: str, told: str, inside: str) -> str:
    """The drawing, with what it shows in words for those who do not see it."""
    return (
        f'<svg role="img" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'font-size="12" font-family="inherit"><title>{escaped(title)}</title><desc>{escaped(told)}</desc>'
        f"{inside}</svg>"
    )


def nothing(title: str, width: float = 560) -> str:
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
