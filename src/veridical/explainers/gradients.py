"""Gradients by the input embeddings, and how a vector per word becomes a score per word."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from veridical.models import Classifier, Rows

Aggregate = Literal["sum", "mean", "l2", "abs_sum"]
"""Sum, mean or length of a word's vector, or the absolute value of its sum."""


def aggregate(vectors: Tensor, how: Aggregate) -> Tensor:
    """One number per position from a vector per position: [..., d] gives [...]."""
    if how == "l2":
        lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
        return lengths
    total = vectors.sum(-1) if how != "mean" else vectors.mean(-1)
    return total.abs() if how == "abs_sum" else total


def input_gradient(
    classifier: Classifier, rows: Rows, pull: Tensor, embeds: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The embeddings at each position and the derivative of the pulled logits by them, both [R, L, d].

    The embeddings are a leaf per position: repeated words do not share a gradient.
    """
    leaf = (classifier.embed(rows) if embeds is None else embeds).detach().requires_grad_()
    output = classifier.run(rows, embeds=leaf)
    (gradient,) = torch.autograd.grad((output.logits * pull).sum(), leaf)
    return leaf.detach(), gradient
