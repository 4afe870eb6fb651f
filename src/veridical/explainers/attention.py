"""Attention as scores: plain, pooled over heads and layers, and scaled by its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.explainers.base import OUTPUT, PIECES, Explainer, Scores
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Classifier, Output, Rows
from veridical.simulation.mixtures import Normaliser, head_logits, shares


@dataclass(frozen=True)
class Attention(Explainer):
    """What the first token attends to in the last layer, mean over heads, renormalised over the words.

    The usual baseline (SaLoss, REGEX, FRESH). Cheap, never negative, says nothing of the direction of an effect. For a
    model with mean pooling, whose head reads all tokens alike, it is the mean of what they all attend to.
    """

    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.CLS_ATTENTIONS})
    cost: ClassVar[str] = "1 forward"
    meaning: ClassVar[str] = (
        "The share of the first token's attention in the last layer, or with mean pooling of all tokens', that goes to "
        "the word. Never negative."
    )
    weakness: ClassVar[str] = (
        "Attention is not an effect: it has no sign, and says nothing of what the model did with what it looked at. By "
        "the last layer each position is a mixture of all words."
    )

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def attended(rows: Rows, _: Tensor) -> Tensor:
            with torch.no_grad():
                output, weights = last_layer(case.classifier, rows)
            return over_heads(output.as_read(weights), rows)

        tokens = case.rowwise(attended, passes=0)
        words = case.to_units(tokens, self.pieces)  # [B, U]
        # Special tokens take a part of the attention, often most of it; what is left to the words is made a whole.
        return Scores(words / words.sum(1, keepdim=True).clamp(min=torch.finfo(words.dtype).tiny))


@dataclass(frozen=True)
class _PooledAttention(Explainer):
    """Attention logits averaged over queries and heads, then made into shares once (SMaT's static explainers)."""

    pieces: Pieces = option("sum", PIECES)
    normaliser: Normaliser = option(
        "softmax", "How words share the attention: by softmax each has some of it, by the others most words have none."
    )
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.ATTENTIONS})
    cost: ClassVar[str] = "1 forward"
    weakness: ClassVar[str] = (
        "Attention is not an effect: it has no sign, and says nothing of what the model did with what it looked at. "
        "Heads that do different things are averaged."
    )

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def pooled(rows: Rows, _: Tensor) -> Tensor:
            with torch.no_grad():
                layers = self._choose(case.classifier.run(rows, attentions=True))
            logits = head_logits(layers, rows).mean(1)  # [R, T]
            return shares(logits, rows, self.normaliser)

        # Shares of each window add up to 1, so those of a text of several windows are averaged.
        windows = torch.bincount(case.batch.rows.owner, minlength=len(case))
        tokens = case.rowwise(pooled, passes=0) / windows[case.batch.rows.owner][:, None]
        return Scores(case.to_units(tokens, self.pieces))

    def _choose(self, output: Output) -> tuple[Tensor, ...]:
        raise NotImplementedError


@dataclass(frozen=True)
class AttentionLastLayer(_PooledAttention):
    """All heads of the last layer: the mean of their attention logits over all query words, made into shares once."""

    meaning: ClassVar[str] = "How much all words look at the word in the last layer. Never negative."

    def _choose(self, output: Output) -> tuple[Tensor, ...]:
        assert output.attentions is not None
        return output.attentions[-1:]


@dataclass(frozen=True)
class AttentionAllLayers(_PooledAttention):
    """All heads of all layers: the mean of their attention logits over all query words, made into shares once."""

    meaning: ClassVar[str] = "How much all words look at the word, in all layers together. Never negative."

    def _choose(self, output: Output) -> tuple[Tensor, ...]:
        assert output.attentions is not None
        return output.attentions


def last_layer(classifier: Classifier, rows: Rows, embeds: Tensor | None = None) -> tuple[Output, Tensor]:
    """The output, and the attention weights of its last layer, by which the output can be differentiated."""
    output = classifier.run(rows, embeds=embeds, attentions=True)
    assert output.attentions is not None
    return output, output.attentions[-1]


def over_heads(read: Tensor, rows: Rows) -> Tensor:
    """The mean over heads of what the model's head reads of attention weights or their gradients: [R, L]."""
    return read.mean(1)[:, : rows.unit_of.shape[1]]


def last_cls(output: Output, rows: Rows) -> Tensor:
    """The first token's attention in the last layer, mean over heads, as shares of the words' tokens: [R, L].

    With mean pooling it is the attention of all tokens instead, as the model's head reads all of them. Special tokens
    have none, and a row without words has 0 everywhere.
    """
    assert output.attentions is not None
    weights = over_heads(output.as_read(output.attentions[-1]), rows).float()  # the floor below is 0 in half precision
    words = weights.masked_fill((rows.unit_of < 0).to(weights.device), 0)
    return words / words.sum(1, keepdim=True).clamp(min=1e-10)


@dataclass(frozen=True)
class ScaledAttention(Explainer):
    """The first token's attention in the last layer, times the derivative of the output by it.

    Signed: unlike attention it tells words for the class from words against it. In a model with mean pooling all tokens
    have a gradient: there it is their mean attention, times the derivative by the attention of all of them together.
    """

    heads: Literal["product-of-means", "mean-of-products"] = option(
        "product-of-means",
        "Multiply the means over heads, as published, or take the mean of the products of each head.",
    )
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset(
        {Ability.CLS_ATTENTIONS, Ability.ATTENTION_GRADIENTS, Ability.GRADIENTS}
    )
    cost: ClassVar[str] = "1 forward, 1 backward"
    meaning: ClassVar[str] = "The attention to the word, times how much more of it would raise the output. Signed."
    weakness: ClassVar[str] = (
        "It sees the last layer only, where each position is already a mixture of all words, and no path around its "
        "attention."
    )
    presets: ClassVar[Presets] = {"saloss": {"output": "prob"}}

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def scaled(rows: Rows, logit_gradient: Tensor) -> Tensor:
            # Without embeddings that want a gradient, a frozen model would build no graph.
            embeds = case.classifier.embed(rows).detach().requires_grad_()
            output, weights = last_layer(case.classifier, rows, embeds)
            # The sum over rows has each row's own gradient: no row attends to another. [r, h, t, t]
            (gradient,) = torch.autograd.grad((output.logits * logit_gradient).sum(), weights)
            if self.heads == "mean-of-products":
                return over_heads(output.as_read_gradient(weights * gradient), rows)
            return over_heads(output.as_read(weights), rows) * over_heads(output.as_read_gradient(gradient), rows)

        return Scores(case.to_units(case.rowwise(scaled, self.output), self.pieces))
