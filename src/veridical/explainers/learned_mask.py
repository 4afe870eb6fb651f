"""A learned mask: a small network that has learned which words a model needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from veridical.core.component import Count, Seed, option
from veridical.core.errors import UnsupportedError
from veridical.explainers.base import Explainer, Scores
from veridical.masking import Case
from veridical.models import Ability, Rows
from veridical.models.weights import Learned

_AT_FIRST = 2.0  # the logit that every word starts with: most of each text is kept, so that there is something to learn


@dataclass(frozen=True)
class LearnedMask(Learned, Explainer):
    """The probability that a word is kept, by a network that was trained to keep no more words than the model needs.

    The objective `learned-mask` trains it with a model and saves it below the model; use it by that folder. By its name
    alone it has learned nothing, and all words score the same.
    """

    size: Count = option(64, "How many numbers the model's word vectors have.")
    width: Count = option(32, "How many units the network's hidden layer has.")
    seed: Seed = option(0, "Seed of the network's first weights.")
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.EMBEDDINGS})
    cost: ClassVar[str] = "1 forward of a small network; training it costs a forward and a backward pass per example"
    meaning: ClassVar[str] = "The probability that the word is kept when as few as possible are. Never negative."
    weakness: ClassVar[str] = (
        "It sees each word without its neighbours, and says the same for every class. What the model needs is known "
        "only as far as training found it, for texts like those it was trained on."
    )

    def build(self) -> nn.Module:
        last = nn.Linear(self.width, 1)
        nn.init.zeros_(last.weight)  # no word is preferred before anything is learned
        nn.init.constant_(last.bias, _AT_FIRST)
        return nn.Sequential(nn.Linear(self.size, self.width), nn.Tanh(), last)

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def logits(rows: Rows, _: Tensor) -> Tensor:
            with torch.no_grad():
                return self.logits(case.classifier.embed(rows))

        return Scores(self.kept(case, case.rowwise(logits, passes=0)))

    def logits(self, embeds: Tensor) -> Tensor:
        """The logit of keeping each token, from embeddings: [R, L, d] gives [R, L]."""
        if embeds.shape[-1] != self.size:
            raise UnsupportedError(
                f"this learned-mask reads word vectors of {self.size} numbers, and the model's have {embeds.shape[-1]}",
                remedy="Train one with this model: `veridical train --objective learned-mask`.",
            )
        found: Tensor = self.network.to(embeds.device)(embeds.float())  # [R, L, 1], for weights of any precision
        return found[..., 0]

    def kept(self, case: Case, logits: Tensor) -> Tensor:
        """How much of each unit is kept, [B, U], from the logits of tokens [R, L]; gradients flow through."""
        # A word of several pieces has the mean of their logits, so that its length does not count.
        return case.to_units(logits.float().cpu(), "mean").sigmoid() * case.live
