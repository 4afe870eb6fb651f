"""Holm's correction: among many tests some succeed by chance, so each is held to a stricter level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.report.audit.findings import ALPHA


def holm(ps: Sequence[float]) -> list[float]:
    """The adjusted p of each test: the i-th smallest of m times m - i + 1, never falling, at most 1."""
    order = np.argsort(ps, kind="stable")
    steps = np.asarray(ps, dtype=float)[order] * np.arange(len(ps), 0, -1)
    adjusted = np.empty(len(ps))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(p) for p in adjusted]


def levels(ps: Sequence[float]) -> list[float]:
    """The level that the procedure holds each test to: ALPHA over the number of tests that are no clearer."""
    order = np.argsort(ps, kind="stable")
    level = np.empty(len(ps))
    level[order] = ALPHA / np.arange(len(ps), 0, -1)
    return [float(each) for each in level]
