"""Curves: a metric step by step, and how fast decisions flip as words go."""

from __future__ import annotations

import numpy as np

from veridical.report.audit.findings import Curve, FlipCurve, IntervalKind
from veridical.report.audit.intervals import estimates
from veridical.report.audit.record import Audit, Judge

_GRID = np.linspace(0, 1, 101)
_DUST = 1e-6
"""Shares are stored in single precision: 0.05 may be a little more."""


def curves(audit: Audit, interval: IntervalKind) -> tuple[Curve, ...]:
    """The curves of all metrics that have steps."""
    return tuple(
        _curve(audit, metric, method.name, interval)
        for metric in audit.metrics
        for method in audit.methods
        if metric.steps and audit.has(metric.name, method.name)
    )


def flip_curves(audit: Audit) -> tuple[FlipCurve, ...]:
    """The curves of all metrics that say of each document whether and where it flipped."""
    found = (_flips(audit, metric.name, method.name) for metric in audit.metrics for method in audit.methods)
    return tuple(each for each in found if each.n)


def _curve(audit: Audit, judge: Judge, method: str, interval: IntervalKind) -> Curve:
    points = audit.curves(judge.name, method)  # [documents, steps]
    return Curve(judge.name, method, judge.steps, tuple(estimates(list(points.T), interval)))


def _flips(audit: Audit, metric: str, method: str) -> FlipCurve:
    values, flipped = audit.values(metric, method), audit.detail("flipped", metric, method)
    scored = ~np.isnan(values) & ~np.isnan(flipped)
    where = np.sort(values[scored & (flipped > 0)])
    counts, n = np.searchsorted(where, _GRID + _DUST, side="right"), int(scored.sum())
    shares = tuple(float(share) for share in _GRID.round(2))
    return FlipCurve(metric, method, shares, tuple(float(count / max(n, 1)) for count in counts), n)
