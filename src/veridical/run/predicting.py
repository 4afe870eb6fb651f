"""Predict texts with a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from veridical.core.errors import ModelError
from veridical.core.example import Example
from veridical.masking import Case, Engine
from veridical.models import Classifier
from veridical.models.classifier import VALUE


@dataclass(frozen=True)
class Prediction:
    """The label a classifier chose, how sure it is of each, or the number a regression gives."""

    example_id: str
    label: str
    probabilities: dict[str, float]
    value: float | None = None
    truncated_units: int = 0


def predict(
    classifier: Classifier, examples: Sequence[str | tuple[str, str] | Example], engine: Engine | None = None
) -> list[Prediction]:
    """The classifier's decisions on some texts, pairs, images or examples."""
    made = [Example.of(value, str(index)) for index, value in enumerate(examples)]
    if not made:
        return []
    case = Case.bind(classifier, made, engine=engine)
    return [_prediction(case, index) for index in range(len(case))]


def _prediction(case: Case, index: int) -> Prediction:
    example, cut = case.batch.examples[index], case.batch.truncated[index]
    if case.classifier.is_regression:
        return Prediction(example.id, VALUE, {}, float(case.output.logits[index, 0]), cut)
    probabilities = case.output.probabilities[index].tolist()
    if len(probabilities) != len(case.classifier.labels):
        raise ModelError(f"{len(probabilities)} outputs for {len(case.classifier.labels)} labels", example=example.id)
    label = case.classifier.target_name(int(case.targets[index]))
    return Prediction(example.id, label, dict(zip(case.classifier.labels, probabilities, strict=True)), None, cut)
