"""What is explained of an output: which of its numbers, on which scale, and how that depends on the logits."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from veridical.core.errors import UsageError
from veridical.models import Batch, Classifier, Output

Scale = Literal["logit", "prob", "logprob"]
"""What a value is: the target's logit, its probability, or the logarithm of that. Regression has only its output."""


def targets_of(classifier: Classifier, batch: Batch, output: Output, target: str) -> Tensor:
    """The output index to explain for each example, [B]: the `predicted` class, the `gold` one, or a label by name."""
    if classifier.is_regression:
        return torch.zeros(len(batch), dtype=torch.long)
    if target == "predicted":
        return output.logits.argmax(-1)
    if target == "gold":
        return classifier.gold(batch.examples)
    if target not in classifier.labels:
        known = ", ".join(classifier.labels)
        raise UsageError(f"the model has no class {target!r}", remedy=f"Choose predicted, gold or one of: {known}.")
    return torch.full((len(batch),), classifier.labels.index(target))


def values_of(logits: Tensor, targets: Tensor, scale: Scale) -> Tensor:
    """The values of targets [N] on a scale, from logits [N, C]: [N]."""
    if scale != "logit":
        logits = logits.softmax(-1) if scale == "prob" else logits.log_softmax(-1)
    return logits.gather(1, targets[:, None])[:, 0]


def derivative_of(logits: Tensor, targets: Tensor, scale: Scale) -> Tensor:
    """The derivative of `values_of` by the logits, [N, C]."""
    chosen = torch.zeros_like(logits).scatter(1, targets[:, None], 1.0)  # d logit_t / d logit_c
    if scale == "logit":
        return chosen
    probabilities = logits.softmax(-1)
    chosen = chosen - probabilities  # d log p_t / d logit_c
    # The chain rule for p_t = exp(log p_t).
    return chosen * probabilities.gather(1, targets[:, None]) if scale == "prob" else chosen
