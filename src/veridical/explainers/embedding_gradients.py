"""Gradients by the input embeddings, where paths to them start, and how a vector per word becomes a score per word."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from veridical.core.errors import UnsupportedError
from veridical.masking import Case
from veridical.masking.case import Scale
from veridical.models import Classifier, Rows

Aggregate = Literal["sum", "mean", "l2", "abs_sum"]
"""Sum, mean or length of a word's vector, or the absolute value of its sum."""

Baseline = Literal["all", "content"]
"""Which embeddings are zero in the input that an input is compared with: all, or all but those of special tokens."""


AGGREGATE = "How the vector of a word becomes one number: sum and mean have a sign, only sums can add up."
BASELINE = "Which embeddings are zero in the input to compare with: all, as in the papers, or those of words only."


def aggregate(vectors: Tensor, how: Aggregate) -> Tensor:
    """One number per position from a vector per position: [..., d] gives [...]."""
    if how == "l2":
        lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
        return lengths
    total = vectors.sum(-1) if how != "mean" else vectors.mean(-1)
    return total.abs() if how == "abs_sum" else total


def input_gradient(
    classifier: Classifier, rows: Rows, logit_gradient: Tensor, embeds: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The embeddings at each position and the derivative of the explained value by them, both [R, L, d].

    `logit_gradient` [R, C] is the derivative of that value by the logits. The embeddings of each position are a leaf of
    their own: repeated words do not share a gradient.
    """
    # The sum over rows has each row's own gradient, as no row depends on another's embeddings.
    leaf = (classifier.embed(rows) if embeds is None else embeds).detach().requires_grad_()
    output = classifier.run(rows, embeds=leaf)
    (gradient,) = torch.autograd.grad((output.logits * logit_gradient).sum(), leaf)
    return leaf.detach(), gradient


def start_of(rows: Rows, embeds: Tensor, baseline: Baseline) -> Tensor:
    """The embeddings to compare with, [R, L, d]."""
    if baseline == "all":
        return torch.zeros_like(embeds)
    # What belongs to no unit is a special token, or a field that is held.
    return embeds * (rows.unit_of < 0)[..., None].to(embeds)


def check_windows(case: Case, scale: Scale, method: str) -> None:
    """Refuse the probability of a text of several windows: only their logits are averaged, so it has no parts."""
    if scale != "logit" and len(case.batch.rows) > len(case):
        raise UnsupportedError(
            f"{method} of a {scale} is not defined window by window", remedy="Use output=logit, or long=truncate."
        )
