"""How far apart two answers or two shares of words are."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from veridical.masking import Case

_FLOOR = 1e-10


def kl(p: Tensor, q: Tensor) -> Tensor:
    """The divergence of shares from others, [..., N] and [..., N] give [...]; shares of 0 count as tiny ones."""
    return (p * (p.clamp(min=_FLOOR).log() - q.clamp(min=_FLOOR).log())).sum(-1)


def symmetric_kl(logits: Tensor, others: Tensor) -> Tensor:
    """KL(p||q) + KL(q||p) of the classes that logits stand for, [..., C] and [..., C] give [...]."""
    logs, other_logs = logits.float().log_softmax(-1), others.float().log_softmax(-1)
    return ((logs.exp() - other_logs.exp()) * (logs - other_logs)).sum(-1)


def gap(case: Case, logits: Tensor, others: Tensor) -> Tensor:
    """How far two outputs for each example are apart, [B]: symmetric divergence, or squared error for regression."""
    if case.classifier.is_regression:
        return functional.mse_loss(logits[:, 0], others[:, 0], reduction="none")
    return symmetric_kl(logits, others)
