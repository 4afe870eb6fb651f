"""How sure a model is of its decisions, and making one as sure as another without changing a decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from veridical.core.values import Example
from veridical.masking import Case
from veridical.models import Classifier

_DIGITS = 4
"""Of a temperature: it is a part of what a model is called, and must come out the same when a study goes on."""


def confidence(logits: Tensor) -> float:
    """The mean probability of the predicted class."""
    return float(logits.double().softmax(-1).amax(-1).mean())


def temperature_for(logits: Tensor, wanted: float) -> float:
    """The number that logits [N, C] are divided by to come to a confidence, or as near to it as any number comes."""
    low, high = 1e-3, 1e3  # nearly certain, and nearly no opinion
    for _ in range(60):
        middle = (low * high) ** 0.5  # temperatures are factors, so the middle is that of their logarithms
        low, high = (middle, high) if confidence(logits / middle) > wanted else (low, middle)
    return float(f"{high:.{_DIGITS}g}")


def as_sure(model: Path, examples: Sequence[Example], wanted: float) -> Classifier:
    """The model of a folder with the temperature that brings it to a confidence in some examples."""
    logits = Case.bind(Classifier.load(model), examples).output.logits
    return Classifier.load(model, temperature=temperature_for(logits, wanted))
