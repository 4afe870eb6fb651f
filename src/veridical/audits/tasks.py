"""What has to be measured: which metric for the scores of which method, and the keys of the numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from veridical.audits.method_scores import MethodScores, Place
from veridical.audits.plan import AnyMetric
from veridical.audits.record import FLOOR, MODEL, AuditedMetric, Measurement, Order
from veridical.core.files.rows import spec_data
from veridical.metrics import METRICS, CorpusMetric, Measured


@dataclass(frozen=True)
class MeasuringTask:
    """One metric for the scores of one method, in one order; `name` is that of the metric in tables.

    `precision` is that of the model, if it is asked: a number measured in another one is another number.
    """

    name: str
    metric: AnyMetric
    method: MethodScores
    order: Order = "given"
    precision: str = ""

    def keys(self, documents: Sequence[Place]) -> dict[Place, str]:
        """The key of each document that the method has explained: a hash of everything that its value depends on."""
        scored = self.method.scored
        own = {place: digest(self._kind, scored[place].content) for place in documents if place in scored}
        if not isinstance(self.metric, CorpusMetric):
            return own
        # Each value depends on all the others: with one more document, all are measured anew.
        return {place: digest(key, *own.values()) for place, key in own.items()}

    def rows(self, documents: Sequence[Place], found: Measured) -> dict[Place, Measurement]:
        """What was measured, by document."""
        curves = [()] * len(documents) if found.curve is None else [tuple(curve) for curve in found.curve.tolist()]
        return {
            place: Measurement(
                document=self.method.scored[place].document,
                method=self.method.name,
                metric=self.name,
                value=float(found.values[index]),
                order=self.order,
                curve=curves[index],
                details={name: float(values[index]) for name, values in found.details.items()},
            )
            for index, place in enumerate(documents)
            if place in self.method.scored
        }

    @cached_property
    def _kind(self) -> str:
        spec = json.dumps(METRICS.spec(self.metric), sort_keys=True)
        # The names are part of a row, and beside other methods a method may have another one.
        return digest(spec, self.order, self.precision, self.name, self.method.name)


def document_tasks(
    metrics: Mapping[str, AnyMetric], methods: Sequence[MethodScores], reverse: bool, precision: str
) -> Iterator[MeasuringTask]:
    """The tasks of the metrics that judge documents one by one; with `reverse` also of reversed orders."""
    for name, metric in metrics.items():
        for method in [] if isinstance(metric, CorpusMetric) else methods:
            if (method.name == MODEL) == (metric.subject == "model"):
                yield MeasuringTask(name, metric, method, "given", precision)
                if reverse and metric.ranks and method.name != FLOOR:
                    yield MeasuringTask(name, metric, method, "reversed", precision)


def corpus_tasks(metrics: Mapping[str, AnyMetric], methods: Sequence[MethodScores]) -> Iterator[MeasuringTask]:
    """The tasks of the metrics that judge all explanations of a method together."""
    for name, metric in metrics.items():
        for method in methods if isinstance(metric, CorpusMetric) else []:
            if method.name not in (FLOOR, MODEL):
                yield MeasuringTask(name, metric, method)


def audited_metric(name: str, metric: AnyMetric, steps: tuple[float, ...]) -> AuditedMetric:
    """What an audit says of a metric; `steps` are what the points of its curves stand for."""
    return AuditedMetric(
        name=name,
        spec=spec_data(METRICS.spec(metric)),
        greater_is_better=metric.greater_is_better,
        percent=metric.percent,
        meaning=metric.meaning,
        weakness=metric.weakness,
        comparable=metric.comparable,
        steps=steps,
    )


def digest(*parts: str) -> str:
    """A hash of some texts."""
    return hashlib.blake2b("|".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
