"""An audit as a value: every number for every document, and how each was made. Statistics and cards come from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from veridical.core.component import unknown
from veridical.core.errors import UsageError
from veridical.core.values import Label, gives_labels, short

if TYPE_CHECKING:
    from veridical.audits.statistics.findings import Agreement, Summary

Order = Literal["given", "reversed"]
"""Words as a method ranks them, or the last first: a floor that no sensible method may fall under."""

FLOOR = "random"
"""The method that knows nothing, always audited beside the others."""

DRAWS = 5
"""How many orders the floor is the mean of: one draw alone may be lucky. Other methods have one."""

MODEL = "the model"
"""Stands in the place of a method where a metric judges the model itself, and no explanations."""


def document_id(example: str, target: str, model: Mapping[str, Any]) -> str:
    """The id of a document, which is an example and the target that is explained.

    An example has one target, and its own id is enough, unless the model gives any number of labels.
    """
    return f"{example} [{target}]" if gives_labels(model) else example


@dataclass(frozen=True)
class Document:
    """An example and the class that is explained, the `target`; `probability` is what the model gave that class.

    An example of a model that gives any number of labels is a document for each label that is explained. `digest` is a
    hash of the text: two audits may have different texts under the same id. It is empty if not known.
    """

    id: str
    target: str
    units: int
    label: Label | None = None
    probability: float = math.nan
    digest: str = ""


@dataclass(frozen=True)
class AuditedMethod:
    """A method in an audit: its `name` as it is written in tables, its explanations' spec, and what it costs.

    `costs` are means per document: `queries`, `forwards`, `backwards`, and `seconds` where they were measured.
    """

    name: str
    spec: Mapping[str, Any]
    costs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditedMetric:
    """A metric in an audit: its `name` as it is written in tables, and its full spec.

    `comparable` says whether values of different models can be compared: raw differences of probabilities cannot.
    `describes` says that no value is better than another, whatever `greater_is_better` says.
    `alarm` is what to warn of where the interval of a mean lies above 0, if that is a warning.
    `steps` are what the points of its curves stand for. `eraser` is its way of taking words away, if it has one.
    """

    name: str
    spec: Mapping[str, Any]
    greater_is_better: bool
    percent: bool = False
    meaning: str = ""
    weakness: str = ""
    comparable: bool = True
    describes: bool = False
    alarm: str = ""
    steps: tuple[float, ...] = ()

    @property
    def kind(self) -> str:
        """The metric without its settings."""
        return str(self.spec["name"])

    @property
    def eraser(self) -> str | None:
        return self.spec.get("eraser")


@dataclass(frozen=True)
class Measurement:
    """One number: how a metric judged a method on a document. NaN is undefined."""

    document: str
    method: str
    metric: str
    value: float
    order: Order = "given"
    curve: tuple[float, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Audit:
    """Methods judged by metrics on the same documents with the same model.

    `skipped` says why a metric or a method was not measured. `failures` says by example and method why the method
    could not explain the document or could not be judged on it. `likeness` is how many of their first words methods
    share. `work` counts the questions asked of the model (`queries`) and the inputs it ran (`forwards`). `warnings` are
    for people.
    """

    model: Mapping[str, Any]
    data: str
    documents: tuple[Document, ...]
    methods: tuple[AuditedMethod, ...]
    metrics: tuple[AuditedMetric, ...]
    rows: tuple[Measurement, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    likeness: Agreement | None = None
    work: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = f"{len(self.documents):,} documents, {len(self.methods)} methods, {len(self.metrics)} metrics"
        return f"Audit({self.model_name} on {self.data}: {counts})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.summary.verdict])

    def _repr_html_(self) -> str:
        from veridical.audits.card.card import fragment  # which needs this module

        return fragment(self)

    @property
    def model_name(self) -> str:
        return str(self.model.get("name") or self.model.get("kind", "model"))

    @cached_property
    def summary(self) -> Summary:
        """The statistics of the audit and a verdict in words; computed when they are first asked for."""
        from veridical.audits.statistics.summary import summarise  # which needs this module

        return summarise(self)

    @cached_property
    def failure_reasons(self) -> dict[str, str]:
        """Why each document failed, in words; methods are named where others could explain it or failed otherwise."""
        judged = {self.example_of(document) for document in self.documents}
        return {each: _reason(found, each in judged) for each, found in self.failures.items()}

    def metric(self, name: str) -> AuditedMetric:
        """The metric of that name, or an error with the nearest one."""
        return _named("metric", name, self.metrics)

    def method(self, name: str) -> AuditedMethod:
        """The method of that name, or an error with the nearest one."""
        return _named("method", name, self.methods)

    def example_of(self, document: Document) -> str:
        """The id of the example that a document is of."""
        return document.id.removesuffix(f" [{document.target}]") if gives_labels(self.model) else document.id

    def has(self, metric: str, method: str, order: Order = "given") -> bool:
        """Whether there is any row of these."""
        return (metric, method, order) in self._index

    def values(self, metric: str, method: str, order: Order = "given") -> NDArray[np.float64]:
        """One number per document, in the order of `documents`: NaN where undefined or not there."""
        found = self._found(metric, method, order)
        return np.array([found[each.id].value if each.id in found else np.nan for each in self.documents], dtype=float)

    def detail(self, name: str, metric: str, method: str, order: Order = "given") -> NDArray[np.float64]:
        """A further number of the metric per document, NaN where there is none."""
        found = self._found(metric, method, order)
        numbers = [found[each.id].details.get(name, np.nan) if each.id in found else np.nan for each in self.documents]
        return np.array(numbers, dtype=float)

    def curves(self, metric: str, method: str, order: Order = "given") -> NDArray[np.float64]:
        """The metric's steps per document, [documents, steps]: NaN where undefined."""
        found, steps = self._found(metric, method, order), self.metric(metric).steps
        empty = (np.nan,) * len(steps)
        rows = [found[each.id].curve or empty if each.id in found else empty for each in self.documents]
        return np.array(rows, dtype=float).reshape(len(rows), len(steps))

    def _found(self, metric: str, method: str, order: Order) -> Mapping[str, Measurement]:
        """What was measured, by document; names that the audit does not have are refused."""
        are_names = all(isinstance(each, str) for each in (metric, method, order))
        if not are_names or not self.has(metric, method, order):
            self.metric(metric)
            self.method(method)
            if order not in get_args(Order):
                raise unknown("order", order, dict.fromkeys(get_args(Order)))
        return self._index.get((metric, method, order), {})

    @cached_property
    def _index(self) -> dict[tuple[str, str, str], dict[str, Measurement]]:
        index: dict[tuple[str, str, str], dict[str, Measurement]] = {}
        for row in self.rows:
            index.setdefault((row.metric, row.method, row.order), {})[row.document] = row
        return index


def check_audit(given: object) -> None:
    """Refuse what is no audit where one is asked for."""
    if not isinstance(given, Audit):
        raise UsageError(f"{short(given)} is no audit", remedy="Give what audit(...) or load_audit(folder) returned.")


_Part = TypeVar("_Part", AuditedMetric, AuditedMethod)


def _named(kind: str, name: str, parts: tuple[_Part, ...]) -> _Part:
    """The part of an audit that has a name, or an error with the nearest one."""
    found = next((each for each in parts if each.name == name), None)
    if found is None:
        raise unknown(f"{kind} of this audit", name, {each.name: each for each in parts})
    return found


def _reason(found: Mapping[str, str], is_judged: bool) -> str:
    methods: dict[str, list[str]] = {}
    for method, why in found.items():
        methods.setdefault(why, []).append(method)
    if len(methods) == 1 and not is_judged:
        return next(iter(methods))
    return " ".join(f"{', '.join(names)}: {why.rstrip('.')}." for why, names in methods.items())
