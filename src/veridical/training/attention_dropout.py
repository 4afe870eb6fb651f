"""Attention as it is: no dropout on attention weights while a loss looks at them.

In train mode a model shows its attention after dropout: some weights are 0 by chance and the rest do not add up to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from veridical.core.errors import UnsupportedError
from veridical.models import Batch
from veridical.models.transformer import Transformer

_NAMES = ("dropout", "attention_dropout", "dropout_prob", "attn_dropout")


@contextmanager
def no_attention_dropout(classifier: Transformer, sample: Batch) -> Iterator[None]:
    """While inside, the model drops out no attention weight; a model where that fails on the sample is refused."""
    before = [(owner, name, getattr(owner, name)) for owner, name in _rates(classifier.model)]
    try:
        for owner, name, _ in before:
            setattr(owner, name, 0.0)
        _check(classifier, sample)
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
        for name in _NAMES:
            found = getattr(module, name, None)
            if isinstance(found, nn.Dropout):
                yield found, "p"
            elif isinstance(found, float):
                yield module, name


def _is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__


def _check(classifier: Transformer, sample: Batch) -> None:
    classifier.model.train()
    with torch.no_grad(), torch.random.fork_rng():
        output = classifier.run(sample.rows, attentions=True)
    assert output.attentions is not None
    total = output.from_first_token(output.attentions[-1]).sum(-1)  # [R, H]
    if not torch.allclose(total, torch.ones_like(total), atol=1e-3):
        raise UnsupportedError(
            f"the attention dropout of {classifier.family} models cannot be switched off, so no loss can look at "
            "their attention",
            remedy="Set it to 0 in the model's configuration.",
        )
