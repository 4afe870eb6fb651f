"""How good predictions are: accuracy and macro-F1, or correlation and error for regression."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.example import Example
from veridical.masking import Engine
from veridical.models import Classifier


def evaluate(classifier: Classifier, examples: Sequence[Example], engine: Engine | None = None) -> dict[str, float]:
    """Predict examples and compare with their labels; `loss` is that of plain training."""
    logits = (engine or Engine()).predict(classifier, examples)
    gold = classifier.gold(examples)
    if classifier.is_regression:
        error = float(functional.mse_loss(logits[:, 0], gold))
        return {"loss": error, "pearson": pearson(logits[:, 0], gold)}
    predicted = logits.argmax(-1)
    return {
        "loss": float(functional.cross_entropy(logits, gold)),
        "accuracy": float((predicted == gold).float().mean()),
        "macro_f1": macro_f1(predicted, gold),
    }


def main_figure(classifier: Classifier) -> str:
    """The figure that models of this kind are chosen by, unless somebody says otherwise."""
    return "pearson" if classifier.is_regression else "accuracy"


def macro_f1(predicted: Tensor, gold: Tensor) -> float:
    """The mean over the classes that occur of their F1."""
    scores = []
    for label in torch.cat([predicted, gold]).unique():
        hits = ((predicted == label) & (gold == label)).sum()
        scores.append(2 * hits / ((predicted == label).sum() + (gold == label).sum()))
    return float(torch.stack(scores).mean())


def pearson(predicted: Tensor, gold: Tensor) -> float:
    """Linear correlation; 0 where one side is constant."""
    pair = torch.stack([predicted, gold]).double()
    pair = pair - pair.mean(1, keepdim=True)
    norms = pair.norm(dim=1)
    return float(pair[0] @ pair[1] / norms.prod()) if norms.prod() > 0 else 0.0
