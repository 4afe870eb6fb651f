"""How series are told apart: by colour, dash and marker, so that a grey print or a colour-blind eye loses nothing.

The colours are those of Okabe and Ito, without the yellow, which vanishes on white paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

INK = "var(--vd-ink,#1b1e24)"
SOFT = "var(--vd-soft,#5b6270)"
LINE = "var(--vd-line,#d9dce3)"
PAPER = "var(--vd-paper,#ffffff)"

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
