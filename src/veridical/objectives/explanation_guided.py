"""Explanation-guided training: attention that goes to what the model's output really depends on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from veridical.core.component import Count, Share, Weight, option
from veridical.explainers.attention import last_cls
from veridical.explainers.deep_lift import contributions
from veridical.explainers.gradients import aggregate, input_gradient
from veridical.explainers.integrated_gradients import quadrature
from veridical.masking import ERASERS, Case
from veridical.masking.erasure import places, share
from veridical.models import Ability, Output, Rows
from veridical.objectives.portion import PortionTerms, kl, mean_over_examples

Attribution = Literal["integrated-gradients", "saliency", "input-x-gradient", "deep-lift"]


def attributions(case: Case, how: Attribution, steps: int) -> Tensor:
    """A vector for each token [R, L, d] about the target's logit, with dropout off and apart from any graph.

    Integrated gradients take so many `steps` from zero embeddings; the other methods have no steps.
    """
    if how == "deep-lift":
        return case.rowsum(lambda rows, _: _deep_lift(case, rows), torch.arange(len(case.batch.rows)))
    return _path_gradients(case, how, steps if how == "integrated-gradients" else 0)


def _deep_lift(case: Case, rows: Rows) -> Tensor:
    start = torch.zeros_like(case.classifier.embed(rows)).detach()
    return contributions(case, rows, start, "logit", complete=True)[0]


def _path_gradients(case: Case, how: Attribution, steps: int) -> Tensor:
    """Gradients at points between zero embeddings and the text; without steps, at the text."""
    at, share = quadrature("gauss-legendre", steps) if steps else quadrature("right", 1)
    count = len(case.batch.rows)
    row, points, weights = torch.arange(count).repeat_interleave(len(at)), at.repeat(count), share.repeat(count)
    logit_gradient = case.logit_gradient(case.output.logits.detach(), "logit")  # [R, C]

    def contribution(rows: Rows, visit: Tensor) -> Tensor:
        embeds = case.classifier.embed(rows).detach()  # [v, l, d]
        place = embeds * points[visit].to(embeds)[:, None, None]  # between nothing and the text
        _, gradient = input_gradient(
            case.classifier, rows, logit_gradient[row[visit].to(logit_gradient.device)].to(embeds), place
        )
        moved = gradient * weights[visit].to(embeds)[:, None, None]
        return moved if how == "saliency" else moved * embeds

    return case.rowsum(contribution, row)


Replacement = Literal["mask", "zero", "pad_attn", "random"]
"""What takes the place of a token: as the erasers of these names, or the embedding of another token of the batch."""

Direction = Literal["att,q", "q,att"]
"""Which of attention and attribution is the first argument of the divergence."""

Sharing = Literal["sum", "softmax"]
"""How attributions become shares: divided by their sum, negative ones as 0, or by a softmax."""


@dataclass(frozen=True)
class ExplanationGuided(PortionTerms):
    """Draws the first token's attention to the tokens that an attribution for the gold class finds (REGEX's L_kl).

    The attribution is constant: only attention learns. It is drawn there both for the text and for the text
    without its least important tokens. Texts without words, and those whose attributions are all negative or 0 where
    `normaliser=sum` can make no shares of them, count 0.
    """

    weight: Weight = option(0.01, "The weight of the divergence.")
    attribution: Attribution = option("integrated-gradients", "What finds the important tokens.")
    aggregation: Literal["l2", "mean"] = option("l2", "How a token's vector becomes a number: its length or its mean.")
    steps: Count = option(
        4,
        "The steps of integrated gradients; the paper's 50 cost more than all the rest of training, and few give "
        "nearly the same shares.",
    )
    ratio: Share = option(0.15, "The share of the tokens that is taken away as least important.")
    replace: Replacement = option("mask", "What takes their place.")
    direction: Direction = option("att,q", "Which of attention and attribution is the divergence's first argument.")
    normaliser: Sharing = option("sum", "How attributions become shares.")
    every: Count = option(1, "Compute the term for one in so many examples of each batch.")

    @property
    def abilities(self) -> frozenset[Ability]:
        replacing = Ability.EMBEDDINGS if self.replace == "random" else ERASERS[self.replace].needs
        return frozenset({Ability.CLS_ATTENTIONS, Ability.EMBEDDINGS, Ability.GRADIENTS, replacing})

    def unweighted(self, case: Case) -> dict[str, Tensor]:
        return {"explanation_guided": self.divergence(case)}

    def divergence(self, case: Case) -> Tensor:
        """The mean divergence of attention and attribution for texts, plus that for texts without some tokens."""
        shares = self.shares(case)
        rows, embeds = self.replaced(case, case.batch.rows, self.least(case, shares))
        return self.apart(case, shares, case.run(rows, embeds=embeds, attentions=True))

    def apart(self, case: Case, shares: Tensor, without: Output) -> Tensor:
        """The mean divergence, given the shares and what the model says of the texts without some tokens."""
        whole, part = (last_cls(output, case.batch.rows) for output in (case.output, without))  # [R, L] each
        shares = shares.to(whole)
        return mean_over_examples(case, self._apart(whole, shares) + self._apart(part, shares))

    def shares(self, case: Case) -> Tensor:
        """Each token's share of the attribution, [R, L]: 0 at special tokens and padding."""
        scores = aggregate(attributions(case, self.attribution, self.steps), self.aggregation)
        words = case.batch.rows.unit_of >= 0
        if self.normaliser == "softmax":
            return scores.masked_fill(~words, -torch.inf).softmax(1).nan_to_num()
        scores = scores.clamp(min=0) * words
        return scores / scores.sum(1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)

    def least(self, case: Case, shares: Tensor) -> Tensor:
        """The tokens of least importance, [R, L] booleans: at least one of each row that has some."""
        words = case.batch.rows.unit_of >= 0
        count = words.sum(1)
        kept = count - share(self.ratio, count)  # [R]
        return words & (places(shares.cpu(), words) >= kept[:, None])

    def replaced(self, case: Case, rows: Rows, gone: Tensor) -> tuple[Rows, Tensor]:
        """Rows with something else in the place of some tokens [R, L], and their embeddings [R, L, e]."""
        if self.replace == "random":
            return rows, _shuffled(case.classifier.embed(rows), gone, rows.unit_of)
        # Erasers erase units; here each token is one.
        tokens = torch.arange(gone.shape[1]).where(rows.unit_of >= 0, -1)
        rows = ERASERS.create(self.replace)(case.classifier, dataclasses.replace(rows, unit_of=tokens), ~gone)
        return rows, case.classifier.embed(rows)

    def _apart(self, attention: Tensor, shares: Tensor) -> Tensor:
        """The divergence of each row, [R]; 0 where there are no shares to compare with."""
        first, second = (attention, shares) if self.direction == "att,q" else (shares, attention)
        return kl(first, second) * (shares.sum(1) > 0)


def _shuffled(embeds: Tensor, gone: Tensor, unit_of: Tensor) -> Tensor:
    """Embeddings with those of some tokens replaced by those of tokens drawn from all rows."""
    words = embeds[(unit_of >= 0).to(embeds.device)]  # [N, d]
    if not len(words):
        return embeds
    drawn = torch.randint(len(words), gone.shape).to(embeds.device)
    return torch.where(gone[..., None].to(embeds.device), words[drawn], embeds)
