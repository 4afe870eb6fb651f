"""Agreement of methods: do the words that two methods keep lead the model to the same class?"""

from __future__ import annotations

import numpy as np

from veridical.report.audit.findings import Agreement
from veridical.report.audit.intervals import Numbers
from veridical.report.audit.record import Audit, Judge


def agreements(audit: Audit) -> tuple[Agreement, ...]:
    """A matrix of each metric that says which class the words kept give."""
    found = (_agreement(audit, judge) for judge in audit.metrics)
    return tuple(each for each in found if each.methods)


def _agreement(audit: Audit, judge: Judge) -> Agreement:
    classes = {method.name: audit.detail("class", judge.name, method.name) for method in audit.methods}
    given = {name: each for name, each in classes.items() if not np.isnan(each).all()}
    values = tuple(tuple(_same(one, other) for other in given.values()) for one in given.values())
    meaning = "The share of documents on which the words that two methods keep give the same class."
    return Agreement(judge.name, meaning, tuple(given), values)


def _same(one: Numbers, other: Numbers) -> float:
    both = ~np.isnan(one) & ~np.isnan(other)
    return float((one[both] == other[both]).mean()) if both.any() else np.nan
