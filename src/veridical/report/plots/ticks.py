"""Where an axis has its ticks, and how their numbers are written."""

from __future__ import annotations

import math

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
