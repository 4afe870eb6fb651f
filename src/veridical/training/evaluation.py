"""How good predictions are: accuracy and F1, or correlation and error for regression."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.values import Example
from veridical.masking import Engine
from veridical.models import Classifier, Task
from veridical.objectives.base import Objective, figures_of
from veridical.training.processes import from_first

_ONCE_IN_20 = 1.645  # standard deviations, on one side


def evaluate(classifier: Classifier, examples: Sequence[Example], engine: Engine | None = None) -> dict[str, float]:
    """Predict examples and compare with their labels; `loss` is that of plain training."""
    return compared(classifier, (engine or Engine()).predict(classifier, examples), examples)


def compared(classifier: Classifier, logits: Tensor, examples: Sequence[Example]) -> dict[str, float]:
    """The figures of predictions [N, C] of examples."""
    gold = classifier.gold(examples)
    if classifier.is_regression:
        error = float(functional.mse_loss(logits[:, 0], gold))
        return {"loss": error, "pearson": pearson(logits[:, 0], gold)}
    if classifier.is_multi_label:
        return _of_sets(logits, classifier.chosen(logits), gold)
    predicted = logits.argmax(-1)
    return {
        "loss": float(functional.cross_entropy(logits, gold)),
        "accuracy": float((predicted == gold).float().mean()),
        "macro_f1": macro_f1(predicted, gold),
    }


def own_figures(classifier: Classifier, objective: Objective, examples: Sequence[Example]) -> dict[str, float]:
    """The figures that an objective has of its own; the first of several processes finds them for all."""
    with torch.no_grad():
        return from_first(lambda: figures_of(objective, classifier, examples))


def main_figure(classifier: Classifier) -> str:
    """The figure that models of this kind are chosen by, unless somebody says otherwise."""
    return {Task.NUMBER: "pearson", Task.CLASSES: "accuracy", Task.LABELS: "micro_f1"}[classifier.task]


def chance(classifier: Classifier, examples: Sequence[Example]) -> tuple[float, float]:
    """The main figure of the best model that always says the same, and by how much luck may exceed it, once in 20."""
    count = len(examples)
    if classifier.is_regression:
        return 0.0, _ONCE_IN_20 / math.sqrt(count)
    gold = classifier.gold(examples)
    if classifier.is_multi_label:
        often = gold.sum(0).sort(descending=True).values.cumsum(0)  # hits of always saying the k commonest labels
        said = count * torch.arange(1, len(often) + 1)
        base = float((2 * often / (said + gold.sum())).max())
    else:
        base = float(gold.bincount().max()) / count
    return base, _ONCE_IN_20 * math.sqrt(base * (1 - base) / count)


def _of_sets(logits: Tensor, chosen: Tensor, gold: Tensor) -> dict[str, float]:
    """How good sets of labels are, [N, C]: `accuracy` counts the sets that are right as a whole."""
    held = gold.bool()
    hits, either = (chosen & held).sum(0), chosen.sum(0) + held.sum(0)  # [C] each
    occurring = either > 0
    each = 2 * hits[occurring] / either[occurring]  # the F1 of each label that occurs
    return {
        "loss": float(functional.binary_cross_entropy_with_logits(logits, gold)),
        "micro_f1": float(2 * hits.sum() / either.sum().clamp(min=1)),
        "macro_f1": float(each.mean()) if len(each) else 0.0,
        "accuracy": float((chosen == held).all(1).float().mean()),
    }


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
