"""Which vector of a text the head of a model reads: the first token's, or the mean of all that are attended to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from veridical.core.errors import UnsupportedError, UsageError

Pooling = Literal["cls", "mean"]
"""The last hidden state of the first token, or the mean over the positions that attention may look at."""

_KEY = "classifier_pooling"
"""What a configuration calls it: the name that ModernBERT gave it, which can do both by itself."""

_BY_ITSELF = {"modernbert"}

# The module of each kind that is given the first token's vector, or all vectors of which it takes the first.
_READERS = {
    "albert": "albert.pooler",
    "bert": "bert.pooler",
    "camembert": "classifier",
    "deberta-v2": "pooler",
    "distilbert": "pre_classifier",
    "electra": "classifier",
    "roberta": "classifier",
    "xlm-roberta": "classifier",
}


def pooling_of(model: PreTrainedModel, wanted: Pooling | None) -> Pooling:
    """What the head of a model is to read: as wanted, or as its configuration says, or the first token."""
    kind, own = model.config.model_type, getattr(model.config, _KEY, None)
    if wanted is None:
        return "mean" if own == "mean" and _can_pool(kind) else "cls"
    if wanted not in get_args(Pooling):
        remedy = f"It is one of: {', '.join(get_args(Pooling))}."
        raise UsageError(f"pooling cannot be {wanted!r}", remedy=remedy)
    if wanted == "mean" and not _can_pool(kind):
        raise UnsupportedError(
            f"the head of {kind} models cannot read the mean over all tokens",
            remedy=f"Leave pooling out, or use one of: {', '.join(sorted({*_READERS, *_BY_ITSELF}))}.",
        )
    return wanted


def shares_of(attended: Tensor) -> Tensor:
    """How much each position counts in a mean, [R, L], of how much attention may look at it, 0 to 1; they sum to 1."""
    weights = attended if attended.is_floating_point() else attended.float()
    return weights / weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)


@contextmanager
def reading(model: PreTrainedModel, pooling: Pooling, shares: Tensor | None) -> Iterator[None]:
    """While inside, the head of a model reads what it should; with `mean`, each position has a share [R, L]."""
    with configured(model, pooling):
        if shares is None or model.config.model_type in _BY_ITSELF:
            yield
        else:
            with _given_the_mean(model, shares):
                yield


@contextmanager
def configured(model: PreTrainedModel, pooling: Pooling) -> Iterator[None]:
    """While inside, the configuration of a model says what its head reads; for saving, and for ModernBERT."""
    config = model.config
    before = getattr(config, _KEY, None)
    if (before or "cls") == pooling:
        yield
        return
    setattr(config, _KEY, pooling)
    try:
        yield
    finally:
        if before is None:
            delattr(config, _KEY)
        else:
            setattr(config, _KEY, before)


def _can_pool(kind: str) -> bool:
    return kind in _READERS or kind in _BY_ITSELF


@contextmanager
def _given_the_mean(model: PreTrainedModel, shares: Tensor) -> Iterator[None]:
    """While inside, the head is handed the mean of the last hidden states in the place of the first one."""
    seen: list[Tensor] = []

    def see(_module: nn.Module, _args: Any, given: Any) -> None:
        seen.append(given[0])  # [R, L, d]

    def hand_over(_module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        states = seen.pop()
        # Not as a matrix product: rules that go back through a model take those for attention.
        mean = (states * shares[..., None].to(states)).sum(1)  # [R, d]
        return (mean[:, None] if args[0].dim() == 3 else mean, *args[1:])

    reader = model.get_submodule(_READERS[model.config.model_type])
    hooks = [_encoder(model).register_forward_hook(see), reader.register_forward_pre_hook(hand_over)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _encoder(model: PreTrainedModel) -> nn.Module:
    """The module that gives the last hidden states."""
    encoder: nn.Module = getattr(model.base_model, "encoder", None) or model.base_model.transformer
    return encoder
