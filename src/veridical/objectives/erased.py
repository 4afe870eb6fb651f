"""Training on parts of texts: the outputs for what is left of them, with gradients and as training runs the model."""

from __future__ import annotations

import torch
from torch import Tensor

from veridical.masking import ERASERS, Case
from veridical.models.classifier import average_windows


def outputs_of_kept(case: Case, eraser: str, keep: Tensor, chosen: Tensor) -> Tensor:
    """All outputs for some `chosen` [N] examples, in order, when only some units are left: `keep` [B, U] gives [N, C].

    Floats keep parts of units, and gradients flow through them.
    """
    rows = case.batch.rows
    rows = rows.select(torch.nonzero(torch.isin(rows.owner, chosen))[:, 0])
    left = ERASERS.create(eraser)(case.classifier, rows, keep[rows.owner])
    left = left.select(torch.arange(len(left)))  # where words are deleted, texts are shorter
    logits = case.classifier.run(left).logits
    return average_windows(logits, torch.searchsorted(chosen, rows.owner), len(chosen))
