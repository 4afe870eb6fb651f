"""Predict texts with a classifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from veridical.core.example import Example
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.models.classifier import VALUE
from veridical.run.portions import Failure, Given, all_or_raise, as_examples, each, portions


@dataclass(frozen=True)
class Prediction:
    """The label a classifier chose, how sure it is of each, or the number a regression gives."""

    example_id: str
    label: str
    probabilities: dict[str, float]
    value: float | None = None
    truncated_units: int = 0


def predict(
    classifier: Classifier, examples: Given | Iterable[Given], engine: Engine | None = None
) -> list[Prediction]:
    """The classifier's decisions on some texts, pairs, images or examples; the first it cannot read raises."""
    return all_or_raise(predict_each(classifier, as_examples(examples), engine))


def predict_each(
    classifier: Classifier, examples: Iterable[Example], engine: Engine | None = None
) -> Iterator[Prediction | Failure]:
    """Decisions on any number of examples, holding only a portion of them; one that fails does not stop the others."""
    engine = engine or Engine()

    def work(portion: list[Example]) -> list[Prediction]:
        case = Case.bind(classifier, portion, engine=engine)
        return [_prediction(case, index) for index in range(len(case))]

    for portion in portions(examples):
        yield from each(portion, work)


def _prediction(case: Case, index: int) -> Prediction:
    example, cut = case.batch.examples[index], case.batch.truncated[index]
    if case.classifier.is_regression:
        return Prediction(example.id, VALUE, {}, float(case.output.logits[index, 0]), cut)
    label = case.classifier.target_name(int(case.targets[index]))
    probabilities = dict(zip(case.classifier.labels, case.output.probabilities[index].tolist(), strict=True))
    return Prediction(example.id, label, probabilities, None, cut)
