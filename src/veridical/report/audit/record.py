"""An audit as a value: every number for every document, and how each was made. Statistics and cards are made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.registry import unknown

Order = Literal["given", "reversed"]
"""Words as a method ranks them, or the last first: a floor that no sensible method may fall under."""

FLOOR = "random"
"""The method that knows nothing, always audited beside the others."""

MODEL = "the model"
"""Stands in the place of a method where a metric judges the model itself, and no explanations."""


@dataclass(frozen=True)
class Document:
    """What an audit knows of an example: `target` is the explained class, `probability` what the model gave it.

    `digest` stands for its text, so that audits of other texts with the same ids are told apart; empty if not known.
    """

    id: str
    target: str
    units: int
    label: str | float | None = None
    probability: float = math.nan
    digest: str = ""


@dataclass(frozen=True)
class Suspect:
    """A method in an audit: its `name` as it is written in tables, its explanations' spec, and what it costs.

    `costs` are means per document: `queries`, `forwards`, `backwards`, and `seconds` where they were measured.
    """

    name: str
    spec: Mapping[str, Any]
    costs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Judge:
    """A metric in an audit: its `name` as it is written in tables, and its full spec.

    `comparable` says whether values of different models can be compared: raw differences of probabilities cannot.
    `steps` are what the points of its curves stand for. `eraser` is its way of taking words away, if it has one.
    """

    name: str
    spec: Mapping[str, Any]
    greater_is_better: bool
    percent: bool = False
    meaning: str = ""
    weakness: str = ""
    comparable: bool = True
    steps: tuple[float, ...] = ()

    @property
    def kind(self) -> str:
        """The metric without its settings."""
        return str(self.spec["name"])

    @property
    def eraser(self) -> str | None:
        return self.spec.get("eraser")


@dataclass(frozen=True)
class Row:
    """One number: how a metric judged a method on a document. NaN is undefined."""

    document: str
    method: str
    metric: str
    value: float
    order: Order = "given"
    curve: tuple[float, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Audit:
    """Methods judged by metrics on the same documents with the same model.

    `skipped` says of each metric or method that was not measured why; `failures` of each document. `work` counts the
    questions asked of the model (`queries`) and the inputs it ran (`forwards`). `warnings` are for people.
    """

    model: Mapping[str, Any]
    data: str
    documents: tuple[Document, ...]
    methods: tuple[Suspect, ...]
    metrics: tuple[Judge, ...]
    rows: tuple[Row, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    work: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model_name(self) -> str:
        return str(self.model.get("name") or self.model.get("kind", "model"))

    def metric(self, name: str) -> Judge:
        """The metric of that name, or an error with the nearest one."""
        known = {each.name: each for each in self.metrics}
        if name not in known:
            raise unknown("metric of this audit", name, known)
        return known[name]

    def method(self, name: str) -> Suspect:
        """The method of that name, or an error with the nearest one."""
        known = {each.name: each for each in self.methods}
        if name not in known:
            raise unknown("method of this audit", name, known)
        return known[name]

    def has(self, metric: str, method: str, order: Order = "given") -> bool:
        """Whether there is any row of these."""
        return (metric, method, order) in self._index

    def values(self, metric: str, method: str, order: Order = "given") -> NDArray[np.float64]:
        """One number per document, in the order of `documents`: NaN where undefined or not there."""
        found = self._index.get((metric, method, order), {})
        return np.array([found[each.id].value if each.id in found else np.nan for each in self.documents], dtype=float)

    def detail(self, name: str, metric: str, method: str, order: Order = "given") -> NDArray[np.float64]:
        """A further number of the metric per document, NaN where there is none."""
        found = self._index.get((metric, method, order), {})
        numbers = [found[each.id].details.get(name, np.nan) if each.id in found else np.nan for each in self.documents]
        return np.array(numbers, dtype=float)

    def curves(self, metric: str, method: str, order: Order = "given") -> NDArray[np.float64]:
        """The metric's steps per document, [documents, steps]: NaN where undefined."""
        found, steps = self._index.get((metric, method, order), {}), self.metric(metric).steps
        empty = (np.nan,) * len(steps)
        rows = [found[each.id].curve or empty if each.id in found else empty for each in self.documents]
        return np.array(rows, dtype=float).reshape(len(rows), len(steps))

    @cached_property
    def _index(self) -> dict[tuple[str, str, str], dict[str, Row]]:
        index: dict[tuple[str, str, str], dict[str, Row]] = {}
        for row in self.rows:
            index.setdefault((row.metric, row.method, row.order), {})[row.document] = row
        return index
