"""Predict texts with a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from veridical.core.example import Example
from veridical.core.progress import Watch
from veridical.masking import Case, Engine
from veridical.models.classifier import VALUE
from veridical.run.handle import Model, ModelHandle
from veridical.run.job import (
    EngineSettings,
    Failure,
    Given,
    Job,
    Result,
    Runner,
    all_or_raise,
    as_examples,
    charge,
    serially,
)


@dataclass(frozen=True)
class Prediction:
    """The label a classifier chose, how sure it is of each, or the number a regression gives."""

    example_id: str
    label: str
    probabilities: dict[str, float]
    value: float | None = None
    truncated_units: int = 0


def predict(
    model: Model,
    examples: Given | Iterable[Given],
    engine: Engine | None = None,
    *,
    runner: Runner = serially,
    watch: Watch | None = None,
) -> list[Prediction]:
    """The decisions of a classifier, a folder or a hub id on some texts, pairs, images or examples.

    The first example that cannot be read raises its error; `predict_each` goes on with the rest instead.
    """
    return all_or_raise(_results(model, as_examples(examples), engine, runner, watch))


def predict_each(
    model: Model,
    examples: Iterable[Example],
    engine: Engine | None = None,
    *,
    runner: Runner = serially,
    watch: Watch | None = None,
) -> Iterator[Prediction | Failure]:
    """Decisions on any number of examples, holding only a portion of them; one that fails does not stop the others."""
    for result in _results(model, examples, engine, runner, watch):
        yield from result.outcomes


def _results(
    model: Model, examples: Iterable[Example], engine: Engine | None, runner: Runner, watch: Watch | None
) -> Iterator[Result[Prediction]]:
    watch, engine, done = watch or Watch(), engine or Engine(), 0
    job = PredictJob(ModelHandle.of(model), "predicted", EngineSettings.of(engine))
    watch.tell("predicting")
    for result in runner(job, job.portions(examples), watch):
        charge(engine.cost, result.cost)
        done += len(result.outcomes)
        watch.tell("predicting", done)
        yield result


@dataclass(frozen=True)
class PredictJob(Job[Prediction]):
    """Ask the model for its decisions."""

    def work(self, examples: list[Example], engine: Engine) -> list[Prediction | Failure]:
        case = Case.bind(self.model.classifier, examples, target=self.target, engine=engine)
        return [_prediction(case, index) for index in range(len(case))]


def _prediction(case: Case, index: int) -> Prediction:
    example, cut = case.batch.examples[index], case.batch.truncated[index]
    if case.classifier.is_regression:
        return Prediction(example.id, VALUE, {}, float(case.output.logits[index, 0]), cut)
    label = case.classifier.target_name(int(case.targets[index]))
    probabilities = dict(zip(case.classifier.labels, case.output.probabilities[index].tolist(), strict=True))
    return Prediction(example.id, label, probabilities, None, cut)
