"""A square table of likeness, tinted: the number is written in each cell, so the tint only helps the eye."""

from __future__ import annotations

import math
from collections.abc import Sequence

from veridical.core.drawing import escaped
from veridical.report.plots.canvas import breadth, nothing, shortened, svg, text
from veridical.report.plots.series import LINE, SOFT

_WIDE, _HIGH = 58.0, 32.0
_DEEPEST = 0.6  # deeper, and the ink on it is hard to read


def heat(names: Sequence[str], values: Sequence[Sequence[float]], title: str) -> str:
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
