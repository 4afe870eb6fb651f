"""Power: how many documents would be needed to tell what these cannot."""

from __future__ import annotations

import math

from scipy import stats

from veridical.report.audit.findings import ALPHA

MOST = 100_000
"""More documents than this are as good as never."""

_POWER = 0.8
_EFFICIENCY = 3 / math.pi
"""Of the signed-rank test, next to the t test on normal differences."""


def documents_needed(effect: float, level: float = ALPHA) -> int | None:
    """Documents for 80% power of a signed-rank test at an effect (Cohen's d_z); None if that is more than `MOST`."""
    if math.isnan(effect) or effect == 0:
        return None
    quantiles = stats.norm.ppf(1 - level / 2) + stats.norm.ppf(_POWER)
    needed = (quantiles / effect) ** 2 / _EFFICIENCY
    return max(math.ceil(needed), fewest(level)) if needed <= MOST else None


def fewest(level: float = ALPHA) -> int:
    """With fewer documents not even differences that all point one way would be significant."""
    return math.ceil(1 - math.log2(level))
