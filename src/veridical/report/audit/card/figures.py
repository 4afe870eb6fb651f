"""How numbers are written: a score always together with the metric that it is of."""

from __future__ import annotations

import math

from veridical.report.audit.findings import Contrast
from veridical.report.audit.record import Judge
from veridical.report.audit.writing import about, number

NONE = "–"


def score(value: float, judge: Judge) -> str:
    """A value of a metric in its printed unit, as it stands in a table."""
    return number(value, judge).replace("-", "\u2212")


def interval(low: float, high: float, judge: Judge) -> str:
    """An interval of a metric's values; a dash where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return NONE
    return f"{score(low, judge)} to {score(high, judge)}"


def direction(judge: Judge) -> str:
    """Which values are good, in words."""
    return "higher is better" if judge.greater_is_better else "lower is better"


def arrow(judge: Judge) -> str:
    """The same as a sign."""
    return "↑" if judge.greater_is_better else "↓"


def unit(judge: Judge) -> str:
    """What a column's numbers are multiplied by, if anything."""
    return " (×100)" if judge.percent else ""


def p_value(p: float) -> str:
    """A p-value, as it stands in a table."""
    if not math.isfinite(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def plain_number(value: float, digits: int = 2) -> str:
    """A number that is of no metric: an effect size, a correlation."""
    if not math.isfinite(value):
        return NONE
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "\u2212")  # no minus before zero


def amount(value: float) -> str:
    """A count or a mean of counts: whole where it is whole, else three digits."""
    if not math.isfinite(value):
        return NONE
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"


def needed(contrast: Contrast) -> str:
    """How many documents would tell two things apart, to two digits; a dash where they are told apart."""
    if contrast.verdict != "cannot tell" or contrast.n < 2:
        return NONE
    return about(contrast.needed)
