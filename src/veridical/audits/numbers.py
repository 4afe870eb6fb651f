"""Numbers as they stand in sentences; a score is always written together with the metric that it is of."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from veridical.audits.record import AuditedMetric
from veridical.audits.statistics.findings import Cell, Contrast, Estimate
from veridical.audits.statistics.samples import MOST
from veridical.core.errors import InputError


def written(found: Cell | Estimate, metric: AuditedMetric) -> str:
    """A mean with its interval: `0.523 (95% interval 0.494 to 0.551)`. A score without its spec cannot be printed."""
    if math.isnan(found.low):
        return number(found.mean, metric)
    return f"{number(found.mean, metric)} (95% interval {number(found.low, metric)} to {number(found.high, metric)})"


def number(value: float, metric: AuditedMetric) -> str:
    """A value in the printed unit of its metric: some are times 100."""
    check_spec(metric)
    if math.isnan(value):
        return "undefined"
    text = f"{printed(value, metric):.1f}" if metric.percent else f"{value:.3f}"
    return text.removeprefix("-") if not float(text) else text  # no "-0.000"


def check_spec(metric: AuditedMetric) -> None:
    """Refuse a metric that does not say how it was measured: its numbers would mean nothing."""
    if not metric.spec.get("name"):
        remedy = "Give the metric the spec it was measured with: its name and every option."
        raise InputError(f"a score of {metric.name!r} without its spec cannot be printed", remedy=remedy)


def printed(value: float, metric: AuditedMetric) -> float:
    """A value in the unit it is printed in."""
    return 100 * value if metric.percent else value


def probability(p: float) -> str:
    """A p as a comparison: `p < 0.001`, `p = 0.034`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def about(documents: int | None) -> str:
    """A number of documents to two digits, as the estimate is no better; None is more than anyone has."""
    if documents is None:
        return f"more than {MOST:,}"
    unit = 10 ** max(len(str(documents)) - 2, 0)
    return f"about {math.ceil(documents / unit) * unit:,}"


def needed(contrast: Contrast) -> str:
    """How many documents would tell, in words."""
    if contrast.n < 2:
        return "there are too few documents to say how many would be needed"
    return f"{about(contrast.needed)} documents would be needed"


def counted(count: int, thing: str) -> str:
    """`1 pair`, `1,200 pairs`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """`a`, `a and b`, `a, b and 3 more`."""
    shown = list(names[:most]) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


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


def documents_needed(contrast: Contrast) -> str:
    """How many documents would tell two things apart, to two digits; a dash where they are told apart."""
    if contrast.verdict != "cannot tell" or contrast.n < 2:
        return NONE
    return about(contrast.needed)


def breakable(name: str) -> list[str]:
    """A name in parts: a line may end between two of them, before an option's bracket or behind a comma."""
    return re.split(r"(?=\()|(?<=,)", name)
