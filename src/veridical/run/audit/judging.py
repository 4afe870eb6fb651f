"""Judging a portion of examples: all methods and metrics share one case, so that equal model inputs are run once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from veridical.core.example import Example
from veridical.core.explanation import Explanation
from veridical.masking import Case, Engine
from veridical.masking.ranking import places
from veridical.metrics import METRICS, CorpusMetric, Measured, Metric, judge
from veridical.metrics.base import judges
from veridical.models import Classifier
from veridical.report.audit.record import FLOOR, MODEL, Order, Row
from veridical.run.audit.journal import Journal
from veridical.run.audit.scored import Method


@dataclass(frozen=True)
class Work:
    """One metric for one method: what is measured for a portion at once. `precision` is the model's, if it is asked."""

    metric: Metric | CorpusMetric
    method: Method
    order: Order = "given"
    precision: str = ""

    def keys(self, examples: Sequence[Example]) -> dict[str, str]:
        """The key of each example that the method has explained: a hash of all that its value depends on."""
        spec = json.dumps(METRICS.spec(self.metric), sort_keys=True)
        told = {each.id: self.method.scored[each.id].content for each in examples if each.id in self.method.scored}
        # The name is part of a row, and a method may have another one beside other methods.
        kind = (spec, self.order, self.precision, self.method.name)
        return {example: _digest(*kind, content) for example, content in told.items()}

    def rows(self, examples: Sequence[Example], found: Measured) -> dict[str, Row]:
        """The rows of what was measured, by key."""
        keys, metric = self.keys(examples), METRICS.written(self.metric)
        curves = [()] * len(examples) if found.curve is None else [tuple(curve) for curve in found.curve.tolist()]
        return {
            keys[example.id]: Row(
                document=example.id,
                method=self.method.name,
                metric=metric,
                value=float(found.values[index]),
                order=self.order,
                curve=curves[index],
                details={name: float(values[index]) for name, values in found.details.items()},
            )
            for index, example in enumerate(examples)
            if example.id in keys
        }


@dataclass
class Bench:
    """The judges: called with examples, it measures what the journal does not have yet, and keeps it there."""

    classifier: Classifier
    methods: Sequence[Method]
    metrics: Sequence[Metric]
    target: str
    reverse: bool
    engine: Engine
    journal: Journal

    def questions(self, units: int) -> int:
        """The most model inputs that judging an example of so many units takes."""
        return sum(metric.questions(units) * self._rounds(metric) for metric in self.metrics)

    def __call__(self, examples: list[Example]) -> list[list[str]]:
        """Measure a portion; the keys of its rows, example by example."""
        missing = [work for work in self._works() if not self.journal.has(work.keys(examples).values())]
        if missing:
            case = Case.bind(self.classifier, examples, target=self.target, engine=self.engine)
            scores = {method.name: method.scores(case) for method in self.methods}
            for work in missing:
                self._measure(work, case, scores[work.method.name])
        keys = [work.keys(examples) for work in self._works()]
        return [[found[example.id] for found in keys if example.id in found] for example in examples]

    def _measure(self, work: Work, case: Case, scores: Tensor) -> None:
        assert not isinstance(work.metric, CorpusMetric)
        found = judge(work.metric, case, backwards(scores, case.live) if work.order == "reversed" else scores)
        self.journal.write(work.rows(case.batch.examples, found), {METRICS.written(work.metric): found.steps})

    def _rounds(self, metric: Metric) -> int:
        """How many orders of words the metric judges for each example."""
        return sum(1 for _ in self._works_of(metric))

    def _works(self) -> Iterator[Work]:
        for metric in self.metrics:
            yield from self._works_of(metric)

    def _works_of(self, metric: Metric) -> Iterator[Work]:
        of_model = judges(metric) == "model"
        for method in self.methods:
            if (method.name == MODEL) == of_model:
                yield Work(metric, method, "given", self.engine.precision)
                if self.reverse and metric.ranks and method.name != FLOOR:
                    yield Work(metric, method, "reversed", self.engine.precision)


def judge_corpus(
    work: Work, examples: Sequence[Example], explanations: Sequence[Explanation], journal: Journal
) -> list[str]:
    """Measure a metric of all explanations of a method together, unless that was done; the keys of the rows."""
    assert isinstance(work.metric, CorpusMetric)
    own = work.keys(examples)
    # Each value depends on all the others: with one more document, all are measured anew.
    keys = {key: _digest(key, *own.values()) for key in own.values()}
    if not journal.has(keys.values()):
        found = work.metric.over(examples, explanations)
        rows = {keys[key]: row for key, row in work.rows(examples, found).items()}
        journal.write(rows, {METRICS.written(work.metric): found.steps})
    return list(keys.values())


def backwards(scores: Tensor, live: Tensor) -> Tensor:
    """The same scores given out the other way round: the first unit gets the last one's, and so on."""
    place = places(scores, live)
    units = live.sum(1, keepdim=True)
    ordered = torch.zeros_like(scores).scatter(1, place, scores)  # by place, highest first
    mirrored = (units - 1 - place).clamp(min=0)
    return ordered.gather(1, mirrored).masked_fill(~live, 0.0)


def _digest(*parts: str) -> str:
    return hashlib.blake2b("|".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
