"""Attention times its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.explainers.attention import first_token_mean, last_layer
from veridical.explainers.base import OUTPUT, PIECES, Explainer, Scores
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Rows


@dataclass(frozen=True)
class ScaledAttention(Explainer):
    """The first token's attention in the last layer, times the derivative of the output by it.

    Signed: unlike attention it tells words for the class from words against it. In models that pool over all words
    instead of taking the first token, all query rows have a gradient; this method reads that of the first token only.
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
            (gradient,) = torch.autograd.grad((output.logits * logit_gradient).sum(), weights)
            if self.heads == "mean-of-products":
                return first_token_mean(output, weights * gradient, rows)
            return first_token_mean(output, weights, rows) * first_token_mean(output, gradient, rows)

        return Scores(case.to_units(case.rowwise(scaled, self.output), self.pieces))
