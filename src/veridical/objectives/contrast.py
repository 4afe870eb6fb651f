"""Contrastive losses: vectors of texts that belong together come close, and all others stay apart."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Reduction = Literal["mean", "sum"]


def contrastive(
    vectors: Tensor, belong: Tensor, temperature: float, normalise: bool = True, reduction: Reduction = "mean"
) -> Tensor:
    """The supervised contrastive loss of vectors [N, d]; `belong` [N, N] weighs the positives of each (Khosla 2020).

    Each vector is compared with all others. One without any positive does not count; where none has one, the loss is 0.
    """
    vectors = functional.normalize(vectors.float(), dim=-1) if normalise else vectors.float()
    itself = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    belong = belong.to(vectors).masked_fill(itself, 0.0)
    alike = (_products(vectors, vectors) / temperature).masked_fill(itself, -torch.inf)
    shares = alike.log_softmax(1).masked_fill(itself, 0.0)  # [N, N]: among all others
    positives = belong.sum(1)
    losses = -(belong * shares).sum(1) / positives.clamp(min=torch.finfo(vectors.dtype).tiny)
    losses = losses[positives > 0]
    if not len(losses):
        return vectors.sum() * 0.0  # with a gradient, which is 0
    return losses.mean() if reduction == "mean" else losses.sum()


def alike_labels(gold: Tensor) -> Tensor:
    """How much the labels of any two examples [B, B] are alike: 1 for the same class.

    `gold` [B] are classes. Sets of labels, [B, C], are as alike as the part of all their labels that both have.
    """
    if gold.dim() == 1:
        return (gold[:, None] == gold[None]).float()
    held = gold.float()
    both = held @ held.T
    either = held.sum(1)[:, None] + held.sum(1)[None] - both
    return both / either.clamp(min=1)


def three_anchors(alike: Tensor, background: bool = True) -> Tensor:
    """Who belongs to whom among texts, their foregrounds and their backgrounds, [3B, 3B]; or without backgrounds.

    A text belongs to its own foreground, and to texts and foregrounds of the same class. A background belongs to all
    other backgrounds: what was left out should say nothing of the class.
    """
    count = len(alike)
    same = alike.clone()
    other = same.masked_fill(torch.eye(count, dtype=torch.bool, device=alike.device), 0.0)
    own = other + torch.eye(count, device=alike.device)  # a text and its own foreground belong together for certain
    top = torch.cat([torch.cat([other, own], 1), torch.cat([own, other], 1)])  # [2B, 2B]
    if not background:
        return top
    found = torch.zeros(3 * count, 3 * count, device=alike.device)
    found[: 2 * count, : 2 * count] = top
    found[2 * count :, 2 * count :] = 1.0 - torch.eye(count, device=alike.device)
    return found


def two_views(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """The unsupervised loss of SimCSE: which of all second views [B, d] is that of the same text as a first one?"""
    first, second = (functional.normalize(each.float(), dim=-1) for each in (first, second))
    alike = _products(first, second) / temperature
    return functional.cross_entropy(alike, torch.arange(len(first), device=first.device))


def _products(first: Tensor, second: Tensor) -> Tensor:
    """The product of any two vectors, in full precision: divided by a small temperature, rounding would count."""
    with torch.autocast(first.device.type, enabled=False):
        return first @ second.T
