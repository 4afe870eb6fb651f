"""Predict texts with a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from itertools import compress

from veridical.core.progress import Watch
from veridical.core.values import VALUE, Example
from veridical.masking import Case, Engine
from veridical.run.given import Given, as_examples
from veridical.run.handle import Model, ModelHandle
from veridical.run.job import (
    EngineSettings,
    Failure,
    Job,
    Result,
    Runner,
    all_or_raise,
    charge,
    one_target,
    serially,
    while_it_answers,
)

_ASK_LATER = "See that the model answers, and ask it about the rest."


@dataclass(frozen=True)
class Prediction:
    """What a classifier chose, how sure it is of each label, or the number a regression gives.

    `labels` is one class. A multi-label model chooses any number of labels, also none.
    """

    example_id: str
    labels: tuple[str, ...]
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
    handle = ModelHandle.of(model)
    job = PredictJob(handle, one_target(handle.classifier), EngineSettings.of(engine))
    total = len(examples) if isinstance(examples, Sized) else None
    watch.tell("predicting", 0, total)
    results = runner(job, job.portions(examples), watch)
    for result in while_it_answers(results, lambda: "those before them are predicted", remedy=_ASK_LATER):
        charge(engine.cost, result.cost)
        done += len(result.outcomes)
        watch.tell("predicting", done, total)
        yield result


@dataclass(frozen=True)
class PredictJob(Job[Prediction]):
    """Ask the model for its decisions."""

    def work(self, examples: list[Example], engine: Engine) -> list[Prediction]:
        case = Case.bind(self.model.classifier, examples, target=self.target, engine=engine)
        return _numbers(case) if case.classifier.is_regression else _choices(case)


def _numbers(case: Case) -> list[Prediction]:
    """What a regression says of the examples of a case."""
    rows = zip(case.batch.examples, case.output.logits[:, 0].tolist(), case.batch.truncated, strict=True)
    return [Prediction(example.id, (VALUE,), {}, value, cut) for example, value, cut in rows]


def _choices(case: Case) -> list[Prediction]:
    """The labels that are chosen for the examples of a case."""
    labels, logits = case.classifier.labels, case.output.logits
    chosen, probabilities = case.classifier.chosen(logits).tolist(), case.classifier.probabilities(logits).tolist()
    return [
        Prediction(example.id, tuple(compress(labels, of)), dict(zip(labels, values, strict=True)), None, cut)
        for example, of, values, cut in zip(
            case.batch.examples, chosen, probabilities, case.batch.truncated, strict=True
        )
    ]
