"""Attention weights as scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import option
from veridical.explainers.base import PIECES, Explainer, Scores
from veridical.explainers.normalisers import Normaliser, normalise
from veridical.masking import Case
from veridical.masking.case import Pieces
from veridical.models import Ability, Classifier, Output, Rows


@dataclass(frozen=True)
class Attention(Explainer):
    """What the first token attends to in the last layer, mean over heads, renormalised over the words.

    The usual baseline (SaLoss, REGEX, FRESH). Cheap, never negative, says nothing of the direction of an effect.
    """

    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.CLS_ATTENTIONS})
    cost: ClassVar[str] = "1 forward"
    meaning: ClassVar[str] = (
        "The share of the first token's attention in the last layer that goes to the word. Never negative."
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
            return first_token_mean(output, weights, rows)

        tokens = case.rowwise(attended, passes=0)
        words = case.to_units(tokens, self.pieces)
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
            return pool_logits(torch.cat(layers, dim=1), rows, self.normaliser)

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


def first_token_mean(output: Output, weights: Tensor, rows: Rows) -> Tensor:
    """The first token's share of attention weights, or of their gradients, mean over heads: [R, L]."""
    return output.from_first_token(weights).mean(1)[:, : rows.unit_of.shape[1]]


def last_cls(output: Output, rows: Rows) -> Tensor:
    """The first token's attention in the last layer, mean over heads, as shares of the words' tokens: [R, L].

    Special tokens have none, and a row without words has 0 everywhere.
    """
    assert output.attentions is not None
    weights = first_token_mean(output, output.attentions[-1], rows)
    words = weights.masked_fill((rows.unit_of < 0).to(weights.device), 0)
    return words / words.sum(1, keepdim=True).clamp(min=1e-10)


def pool_logits(weights: Tensor, rows: Rows, normaliser: Normaliser) -> Tensor:
    """Mean over query rows and heads of attention logits, then shares of the keys: [R, H, T, T] gives [R, T].

    The logarithm of a weight is its logit up to a constant per query, which no normaliser sees.
    """
    attended = rows.inputs["attention_mask"].to(weights.device) > 0  # [R, T]
    logs = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()
    queries = attended[:, None, :, None]
    mean = (logs * queries).sum(2).div(queries.sum(2)).mean(1)  # [R, T]
    return normalise(mean.masked_fill(~attended, -1e10), normaliser)
