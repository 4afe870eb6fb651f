"""Gates: does an audit keep what was promised? For pipelines that must stop when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from veridical.core.errors import UsageError
from veridical.report.audit.findings import Estimate, IntervalKind
from veridical.report.audit.intervals import estimate
from veridical.report.audit.record import FLOOR, Audit, Judge
from veridical.report.audit.writing import printed, written

Bound = Literal["min", "max"]

_DUST = 1e-9
"""A mean of thirds may miss 1 by rounding alone."""


@dataclass(frozen=True)
class Gate:
    """Whether the mean of a method by a metric keeps a `bar`, in the unit the metric is printed in, and in words."""

    method: str
    metric: str
    bound: Bound
    bar: float
    value: float
    low: float
    high: float
    passed: bool
    words: str


def gate(
    audit: Audit,
    minima: Mapping[str, float],
    maxima: Mapping[str, float] | None = None,
    interval: IntervalKind = "bootstrap",
) -> list[Gate]:
    """Check bars for a `metric`, which all methods but `random` must keep, or for one `method:metric`.

    >>> gate(audit, {"comprehensiveness": 0.3}, {"kernel-shap:decision-flip": 0.45})
    """
    asked: list[tuple[Bound, str, float]] = [("min", name, bar) for name, bar in minima.items()]
    asked += [("max", name, bar) for name, bar in (maxima or {}).items()]
    return [
        _gate(audit, method, judge, bound, bar, interval)
        for bound, name, bar in asked
        for method, judge in _meant(audit, name)
    ]


def _meant(audit: Audit, name: str) -> list[tuple[str, Judge]]:
    """The methods and the metric that a name stands for. Names may have colons of their own."""
    known = {f"{method.name}:{judge.name}": (method.name, judge) for method in audit.methods for judge in audit.metrics}
    if name in known:
        return [known[name]]
    method, colon, metric = name.partition(":")
    if colon and name not in [judge.name for judge in audit.metrics]:
        return [(audit.method(method).name, audit.metric(metric))]
    judge = audit.metric(name)
    return [(each, judge) for each in _bound_to_hold(audit, name)]


def _bound_to_hold(audit: Audit, name: str) -> list[str]:
    methods = [method.name for method in audit.methods if method.name != FLOOR and audit.has(name, method.name)]
    if not methods:
        raise UsageError(f"no method but {FLOOR} was audited", remedy=f"Audit a method, or ask for {FLOOR}:{name}.")
    return methods


def _gate(audit: Audit, method: str, judge: Judge, bound: Bound, bar: float, interval: IntervalKind) -> Gate:
    found = estimate(audit.values(judge.name, method), interval)
    value, low, high = (printed(each, judge) for each in (found.mean, found.low, found.high))
    passed = value >= bar - _DUST if bound == "min" else value <= bar + _DUST
    words = _words(found, method, judge, bound, bar, passed)
    return Gate(method, judge.name, bound, bar, value, low, high, passed, words)


def _words(found: Estimate, method: str, judge: Judge, bound: Bound, bar: float, passed: bool) -> str:
    start = f"{'pass' if passed else 'FAIL'}: {method}: {judge.name}"
    if not found.n:
        return f"{start} is undefined for all documents, so it cannot be {_asked(bound, bar)}"
    text = f"{start} is {written(found, judge)}, {'' if passed else 'not '}{_asked(bound, bar)}"
    if printed(found.low, judge) < bar < printed(found.high, judge):
        text += "; the interval has the bar inside, so other documents might say otherwise"
    return text


def _asked(bound: Bound, bar: float) -> str:
    return f"{bar:g} or {'more' if bound == 'min' else 'less'}"
