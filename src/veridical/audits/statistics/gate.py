"""Gates: does an audit keep what was promised? For pipelines that must stop when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from veridical.audits.numbers import printed, written
from veridical.audits.record import FLOOR, Audit, AuditedMetric, check_audit
from veridical.audits.statistics.findings import Estimate
from veridical.audits.statistics.samples import estimate
from veridical.core.errors import UsageError
from veridical.core.values import is_number, short

BarKind = Literal["min", "max"]

_TOLERANCE = 1e-9
"""A mean of thirds may miss 1 by rounding alone."""


@dataclass(frozen=True)
class Gate:
    """Whether the mean of a method by a metric keeps a `bar`, in the unit the metric is printed in, and in words."""

    method: str
    metric: str
    bound: BarKind
    bar: float
    value: float
    low: float
    high: float
    passed: bool
    words: str


def gate(audit: Audit, minima: Mapping[str, float], maxima: Mapping[str, float] | None = None) -> list[Gate]:
    """Check bars for a `metric`, which all methods but `random` must keep, or for one `method:metric`.

    >>> gate(audit, {"comprehensiveness": 0.3}, {"kernel-shap:decision-flip": 0.45})
    """
    check_audit(audit)
    _check_bars(minima)
    _check_bars(maxima or {})
    asked: list[tuple[BarKind, str, float]] = [("min", name, bar) for name, bar in minima.items()]
    asked += [("max", name, bar) for name, bar in (maxima or {}).items()]
    return [
        _gate(audit, method, metric, bound, bar) for bound, name, bar in asked for method, metric in _meant(audit, name)
    ]


def _check_bars(bars: Mapping[str, float]) -> None:
    if not isinstance(bars, Mapping) or not all(map(is_number, bars.values())):
        raise UsageError(
            f"{short(bars)} are no bars", remedy='Give numbers by name, such as {"comprehensiveness": 0.3}.'
        )


def _meant(audit: Audit, name: str) -> list[tuple[str, AuditedMetric]]:
    """The methods and the metric that a name stands for. Names may have colons of their own."""
    pairs = [(method.name, metric) for method in audit.methods for metric in audit.metrics]
    known = {f"{method}:{metric.name}": (method, metric) for method, metric in pairs}
    if name in known:
        return [known[name]]
    method_name, colon, metric_name = name.partition(":")
    if colon and name not in [metric.name for metric in audit.metrics]:
        return [(audit.method(method_name).name, audit.metric(metric_name))]
    metric = audit.metric(name)
    return [(method, metric) for method in _bound_methods(audit, name)]


def _bound_methods(audit: Audit, name: str) -> list[str]:
    """The methods that a bar for all methods binds: every one that was measured, but the floor."""
    methods = [method.name for method in audit.methods if method.name != FLOOR and audit.has(name, method.name)]
    if not methods:
        raise UsageError(f"no method but {FLOOR} was audited", remedy=f"Audit a method, or ask for {FLOOR}:{name}.")
    return methods


def _gate(audit: Audit, method: str, metric: AuditedMetric, bound: BarKind, bar: float) -> Gate:
    found = estimate(audit.values(metric.name, method))
    value, low, high = (printed(each, metric) for each in (found.mean, found.low, found.high))
    passed = value >= bar - _TOLERANCE if bound == "min" else value <= bar + _TOLERANCE
    words = _words(found, method, metric, bound, bar, passed)
    return Gate(method, metric.name, bound, bar, value, low, high, passed, words)


def _words(found: Estimate, method: str, metric: AuditedMetric, bound: BarKind, bar: float, passed: bool) -> str:
    start = f"{'pass' if passed else 'FAIL'}: {method}: {metric.name}"
    if not found.n:
        return f"{start} is undefined for all documents, so it cannot be {_asked(bound, bar)}"
    text = f"{start} is {written(found, metric)}, {'' if passed else 'not '}{_asked(bound, bar)}"
    if printed(found.low, metric) < bar < printed(found.high, metric):
        text += "; the interval has the bar inside, so other documents might say otherwise"
    return text


def _asked(bound: BarKind, bar: float) -> str:
    return f"{bar:g} or {'more' if bound == 'min' else 'less'}"
