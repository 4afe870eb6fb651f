"""Audits made by hand, so that what the statistics must say is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.record import Order

Values = Mapping[str, Mapping[str, Sequence[float]]]


def audited(name: str, **settings: Any) -> AuditedMetric:
    return AuditedMetric(**{"name": name, "spec": {"name": name}, "greater_is_better": True, **settings})


def make(values: Values, turned: Values | None = None, **settings: Any) -> Audit:
    """An audit of `{metric: {method: a value per document}}`, and the same of reversed orders."""
    methods = list(dict.fromkeys(method for each in values.values() for method in each))
    size = max((len(each) for by in values.values() for each in by.values()), default=0)
    documents = tuple(Document(str(index), ("neg", "pos")[index % 2], 3 + index) for index in range(size))
    settings = {
        "model": {"name": "tiny"},
        "data": "reviews:test",
        "documents": documents,
        "methods": tuple(AuditedMethod(method, {"method": {"name": method}}) for method in methods),
        "metrics": tuple(audited(metric) for metric in values),
        **settings,
    }
    return Audit(rows=(*rows(values, "given"), *rows(turned or {}, "reversed")), **settings)


def rows(values: Values, order: Order) -> list[Measurement]:
    return [
        Measurement(str(index), method, metric, value, order)
        for metric, by_method in values.items()
        for method, each in by_method.items()
        for index, value in enumerate(each)
    ]


@pytest.fixture
def make_audit() -> Callable[..., Audit]:
    return make


@pytest.fixture
def make_metric() -> Callable[..., AuditedMetric]:
    return audited
