"""Numbers and names as they stand in tables, with a real minus sign and a dash for what is not there.

A score is always written together with the metric that it is of, which knows its unit.
"""

from __future__ import annotations

import math
import re

from veridical.audits.numbers import about, number
from veridical.audits.record import AuditedMetric
from veridical.audits.statistics.findings import Contrast

NONE = "–"


def score(value: float, metric: AuditedMetric) -> str:
    """A value of a metric in its printed unit."""
    return number(value, metric).replace("-", "\u2212")


def interval(low: float, high: float, metric: AuditedMetric) -> str:
    """An interval of a metric's values; a dash where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return NONE
    return f"{score(low, metric)} to {score(high, metric)}"


def direction(metric: AuditedMetric) -> str:
    """Which values are good, in words."""
    return "higher is better" if metric.greater_is_better else "lower is better"


def arrow(metric: AuditedMetric) -> str:
    """Which values are good, as a sign."""
    return "↑" if metric.greater_is_better else "↓"


def unit(metric: AuditedMetric) -> str:
    """What a column's numbers are multiplied by, if anything."""
    return " (×100)" if metric.percent else ""


def p_value(p: float) -> str:
    """A p-value; very small ones are not spelled out."""
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


def breakable(name: str) -> list[str]:
    """A name in parts: a line may end between two of them, before an option's bracket or behind a comma."""
    return re.split(r"(?=\()|(?<=,)", name)
