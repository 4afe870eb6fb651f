"""Which vector of a text the head of a model reads: the first token's, the mean of all, or a mixture of such means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from veridical.core.errors import UnsupportedError, UsageError
from veridical.models.architecture import embedding_output

Pooling = Literal["cls", "mean", "mix"]
"""The last hidden state of the first token, or its mean over the positions that attention may look at, or a learned
mixture of these means of all hidden states."""

MIX = "scalar_mix"
"""The module of a model that holds the weights of a mixture."""

_KEY = "classifier_pooling"
"""What a configuration calls it: the name that ModernBERT gave it, which can do both by itself."""

_BY_ITSELF = {"modernbert"}
_SHARING = {"albert"}  # one layer is run again and again, so there is no module for each state

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
        return own if own in ("mean", "mix") and _can_pool(kind, own) else "cls"
    if wanted not in get_args(Pooling):
        remedy = f"It is one of: {', '.join(get_args(Pooling))}."
        raise UsageError(f"pooling cannot be {wanted!r}", remedy=remedy)
    if not _can_pool(kind, wanted):
        what = "the mean over all tokens" if wanted == "mean" else "a mixture of all hidden states"
        able = sorted(each for each in (*_READERS, *_BY_ITSELF) if _can_pool(each, wanted))
        raise UnsupportedError(
            f"the head of {kind} models cannot read {what}",
            remedy=f"Leave pooling out, or use one of: {', '.join(able)}.",
        )
    return wanted


class ScalarMix(nn.Module):
    """The means over positions of all hidden states, in a mixture that is learned (Peters et al. 2018, and SMaT).

    It begins as their plain average.
    """

    def __init__(self, states: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(states))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, states: Sequence[Tensor], shares: Tensor) -> Tensor:
        """One vector for each row, [R, d], of states [R, L, d] and the share of each position in a mean, [R, L]."""
        means = torch.stack([(state * shares[..., None].to(state)).sum(1) for state in states])  # [S, R, d]
        mixed: Tensor = self.scale * (means * self.weights.softmax(0)[:, None, None].to(means)).sum(0)
        return mixed


def with_mixture(model: PreTrainedModel, pooling: Pooling) -> None:
    """Let a model have the weights of a mixture, if its head reads one and it has none yet."""
    if pooling == "mix" and not hasattr(model, MIX):
        mixture = ScalarMix(1 + len(_layers(model)))
        model.add_module(MIX, mixture.to(device=model.device, dtype=model.dtype))


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
            with _given_the_mean(model, pooling, shares):
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


def _can_pool(kind: str, pooling: Pooling) -> bool:
    if pooling == "mix":
        return kind in _READERS and kind not in _SHARING
    return pooling == "cls" or kind in _READERS or kind in _BY_ITSELF


@contextmanager
def _given_the_mean(model: PreTrainedModel, pooling: Pooling, shares: Tensor) -> Iterator[None]:
    """While inside, the head is handed a mean over positions in the place of the first one's state."""
    seen: list[Tensor] = []

    def see(_module: nn.Module, _args: Any, given: Any) -> None:
        seen.append(given if isinstance(given, Tensor) else given[0])  # [R, L, d]

    def hand_over(_module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        states = seen.copy()
        seen.clear()
        if pooling == "mix":
            mean = model.get_submodule(MIX)(states, shares)  # [R, d]
        else:
            # Not as a matrix product: rules that go back through a model take those for attention.
            mean = (states[-1] * shares[..., None].to(states[-1])).sum(1)
        return (mean[:, None] if args[0].dim() == 3 else mean, *args[1:])

    reader = model.get_submodule(_READERS[model.config.model_type])
    shown = [embedding_output(model), *_layers(model)] if pooling == "mix" else [_encoder(model)]
    hooks = [module.register_forward_hook(see) for module in shown if module is not None]
    hooks.append(reader.register_forward_pre_hook(hand_over))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _layers(model: PreTrainedModel) -> list[nn.Module]:
    """The layers of the encoder, each of which gives a hidden state."""
    return list(_encoder(model).get_submodule("layer").children())


def _encoder(model: PreTrainedModel) -> nn.Module:
    """The module that gives the last hidden states."""
    encoder: nn.Module = getattr(model.base_model, "encoder", None) or model.base_model.transformer
    return encoder
