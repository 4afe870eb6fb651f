"""The attention that a model in training shows: that before dropout, which objectives can look at."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as drop_out
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from veridical.core.errors import UnsupportedError
from veridical.models import Batch
from veridical.models.transformer import Transformer

_NAME = "veridical-undropped"
_DROPOUTS = ("dropout", "attention_dropout", "dropout_prob", "attn_dropout")


def undropped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    **rest: Any,
) -> tuple[Tensor, Tensor]:
    """A model's own eager attention, but for the weights that it shows: they are those before dropout.

    What the next layer reads is dropped out as ever, with the same draws from chance. Outside of training both are the
    same to the last digit.
    """
    eager = sys.modules[type(module).__module__].eager_attention_forward  # each family of the library has its own
    output, weights = eager(module, query, key, value, attention_mask, dropout=0.0, **rest)
    if not (dropout and module.training):
        return output, weights  # [R, T, H, d] and [R, H, T, T]
    heads = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)  # several may share their values
    return (drop_out(weights, dropout) @ heads).transpose(1, 2).contiguous(), weights


AttentionInterface.register(_NAME, undropped_attention)
AttentionMaskInterface.register(_NAME, eager_mask)


@contextmanager
def attention_before_dropout(classifier: Transformer, sample: Batch) -> Iterator[None]:
    """While inside, the attention that the model shows in training is that before dropout; its rows add up to 1.

    The model itself drops out as ever if its attention goes through the library's interface. If not, it drops out no
    attention weight meanwhile, which a warning says. If the sample shows that this fails, too, the model is refused.
    """
    with ExitStack() as stack:
        stack.enter_context(_through_interface(classifier.model))
        if not _adds_up(classifier, sample):
            stack.enter_context(_without_dropout(classifier.model))
            if not _adds_up(classifier, sample):
                raise UnsupportedError(
                    f"the attention of {classifier.family} models cannot be seen without dropout, so no loss can look "
                    "at it",
                    remedy="Set their attention dropout to 0 in the model's configuration.",
                )
            warnings.warn(
                f"{classifier.family} models show their attention after dropout only: they are trained without "
                "attention dropout, which changes them by itself. Compare with a training of the same kind.",
                stacklevel=2,
            )
        yield


@contextmanager
def _through_interface(model: PreTrainedModel) -> Iterator[None]:
    """While inside, the model attends by our function; one that does not use the interface stays as it is."""
    before = model.config._attn_implementation
    model.set_attn_implementation(_NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


@contextmanager
def _without_dropout(model: nn.Module) -> Iterator[None]:
    """While inside, the model drops out no attention weight, as far as its rates can be found."""
    before = [(owner, name, getattr(owner, name)) for owner, name in _rates(model)]
    try:
        for owner, name, _ in before:
            setattr(owner, name, 0.0)
        yield
    finally:
        for owner, name, rate in before:
            setattr(owner, name, rate)


def _rates(model: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Where the rates are kept: in a dropout module of the innermost attention modules, or there as a number."""
    attentions = [module for module in model.modules() if _is_attention(module)]
    for module in attentions:
        if any(_is_attention(child) for child in module.modules() if child is not module):
            continue
        for name in _DROPOUTS:
            found = getattr(module, name, None)
            if isinstance(found, nn.Dropout):
                yield found, "p"
            elif isinstance(found, float):
                yield module, name


def _is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__


def _adds_up(classifier: Transformer, sample: Batch) -> bool:
    """Whether the shares of attention add up to 1 in training, as they do before dropout."""
    classifier.model.train()
    with torch.no_grad(), torch.random.fork_rng():
        output = classifier.run(sample.rows, attentions=True)
    assert output.attentions is not None
    total = output.as_read(output.attentions[-1]).sum(-1)  # [R, H]
    return torch.allclose(total, torch.ones_like(total), atol=1e-3)
