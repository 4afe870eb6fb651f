"""Breakdowns: is a method as good on every class, and on short and long texts?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.report.audit.findings import IntervalKind, Part
from veridical.report.audit.intervals import estimates
from veridical.report.audit.record import Audit, Document


@dataclass(frozen=True)
class Group:
    """Some of the documents: `members` [documents] says which."""

    by: Literal["class", "length"]
    name: str
    members: NDArray[np.bool_]


def breakdown(audit: Audit, interval: IntervalKind) -> tuple[Part, ...]:
    """The mean of each metric and method over each group of documents."""
    groups = classes(audit) + lengths(audit)
    return tuple(
        part
        for metric in audit.metrics
        for method in audit.methods
        if audit.has(metric.name, method.name)
        for part in _parts(audit, metric.name, method.name, groups, interval)
    )


def classes(audit: Audit) -> list[Group]:
    """Documents by their label, or by what the model explained where there is none. One class is no breakdown."""
    names = np.array([class_of(document) for document in audit.documents], dtype=object)
    known = sorted(set(names))
    return [Group("class", name, names == name) for name in known] if len(known) > 1 else []


def lengths(audit: Audit) -> list[Group]:
    """Documents in thirds by their number of units; fewer groups where many are of one length."""
    units = np.array([document.units for document in audit.documents], dtype=float)
    if not len(units):
        return []
    third = np.searchsorted(np.quantile(units, [1 / 3, 2 / 3]), units)  # 0 up to the first quantile, and so on
    groups = [Group("length", _span(units[third == part]), third == part) for part in np.unique(third)]
    return groups if len(groups) > 1 else []


def class_of(document: Document) -> str:
    """The label if the document has one; numbers are no classes."""
    return document.label if isinstance(document.label, str) else document.target


def _span(units: NDArray[np.float64]) -> str:
    low, high = int(units.min()), int(units.max())
    return f"{low} to {high} units" if low < high else f"{low} units"


def _parts(audit: Audit, metric: str, method: str, groups: list[Group], interval: IntervalKind) -> list[Part]:
    values = audit.values(metric, method)
    found = estimates([values[group.members] for group in groups], interval)
    return [Part(metric, method, group.by, group.name, each) for group, each in zip(groups, found, strict=True)]
