"""The model's own most important words should be enough for its decision, and the rest should not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Positive, Share, Weight, Within, option
from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.explainers.attention import last_cls
from veridical.explainers.gradients import output_gradient
from veridical.masking import ERASERS, Case, EraserName
from veridical.masking.erasure import places, share, top
from veridical.models import Ability, Classifier, Rows
from veridical.objectives.base import CrossEntropy, Objective, check_soft

_FLOOR = 1e-10


@dataclass(frozen=True)
class Rationale(Objective):
    """Plain training, and hinge losses on the probability of a class with and without a text's first words.

    The rationale is the top share of the words by the model's own attribution. `sufficiency` weighs max(0, p(text) -
    p(rationale) + margin), `comprehensiveness` max(0, p(rest) - p(text) + margin) (UNIREX, Chan et al. 2022). The
    probability of the whole text is held constant, or the model could comply by being sure of nothing. Costs two
    forward and two backward passes, and input x gradient one more of each.
    """

    sufficiency: Weight = option(1.0, "The weight of the loss that asks the rationale to be enough.")
    comprehensiveness: Weight = option(1.0, "The weight of the loss that asks the rest not to be enough.")
    ratio: Share = option(0.2, "The share of the words that is the rationale.")
    attribution: Literal["attention", "input-x-gradient"] = option(
        "attention", "What ranks the words: the first token's attention in the last layer, or input x gradient."
    )
    eraser: EraserName = option("mask", "How words are taken away.")
    margin: Annotated[float, Within(-1, 1)] = option(0.1, "How much probability must be gained or lost.")
    target: Literal["gold", "predicted"] = option("gold", "The class whose probability is compared.")
    keep: Literal["hard", "soft"] = option(
        "hard",
        "`hard`: words are in or out, and the attribution is constant; `soft`: each is kept by a sigmoid of its "
        "distance to the threshold, so that attention itself learns which words to choose.",
    )
    temperature: Positive = option(0.1, "What that distance is divided by.")
    weights: ClassVar[tuple[str, ...]] = ("sufficiency", "comprehensiveness")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep == "soft":
            check_soft(self.eraser)

    @property
    def needs(self) -> frozenset[Ability]:
        if not (self.sufficiency or self.comprehensiveness):
            return frozenset()
        by_gradient = {Ability.EMBEDDING_OUTPUT, Ability.GRADIENTS}
        reading = {Ability.CLS_ATTENTIONS} if self.attribution == "attention" else by_gradient
        softly = {Ability.EMBEDDINGS} if self.keep == "soft" else set()
        return frozenset({ERASERS.create(self.eraser).needs, *reading, *softly})

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Rationale:
        if self.needs and classifier.is_regression:
            raise UnsupportedError("rationale compares probabilities, which a regression model does not give")
        return self

    def __call__(self, case: Case) -> dict[str, Tensor]:
        terms = CrossEntropy()(case)
        if not self.needs or not case.live.any():
            return terms
        if self.target == "predicted":
            case = replace(case, targets=case.output.logits.argmax(-1).cpu())
        kept, whole = self.kept(case), self._probability(case, case.output.logits).detach()
        if self.sufficiency:
            lost = whole - self._probability_of(case, kept)
            terms["sufficiency"] = self.sufficiency * self._hinge(case, lost)
        if self.comprehensiveness:
            left = self._probability_of(case, 1 - kept if self.keep == "soft" else ~kept) - whole
            terms["comprehensiveness"] = self.comprehensiveness * self._hinge(case, left)
        return terms

    def kept(self, case: Case) -> Tensor:
        """The rationale, [B, U]: booleans, or for `soft` how much of each word is in it."""
        scores, live = self._scores(case), case.live
        place = places(scores.detach(), live)  # [B, U]
        inside = top(place, share(self.ratio, live.sum(1))[:, None])[:, 0] & live
        if self.keep == "hard":
            return inside
        return ((scores - _between(scores.detach(), inside, live)) / self.temperature).sigmoid() * live

    def _scores(self, case: Case) -> Tensor:
        """The words' scores, [B, U], on a scale where a distance does not depend on the length of the text."""
        if self.attribution == "attention":
            words = case.to_units(last_cls(case.output, case.batch.rows).float().cpu())
            # Shares of attention shrink as texts grow; distances of their logarithms do not.
            return words.clamp(min=_FLOOR).log()
        words = case.to_units(_input_x_gradient(case))
        return words / words.abs().amax(1, keepdim=True).clamp(min=_FLOOR)

    def _probability_of(self, case: Case, keep: Tensor) -> Tensor:
        left = case.with_eraser(self.eraser).ask_with_gradients(torch.arange(len(case)), keep)
        return self._probability(case, left.logits)

    def _probability(self, case: Case, logits: Tensor) -> Tensor:
        return case.scaled(logits, case.targets.to(logits.device), "prob")  # [B]

    def _hinge(self, case: Case, values: Tensor) -> Tensor:
        """The mean of max(0, value + margin) over all examples; those without words add 0."""
        return ((values + self.margin).clamp(min=0) * case.live.any(1).to(values)).mean()


def _between(scores: Tensor, inside: Tensor, live: Tensor) -> Tensor:
    """The middle between the lowest score inside and the highest outside, [B, 1]; the one that there is, or 0."""
    lowest = scores.masked_fill(~inside, torch.inf).amin(1, keepdim=True)  # [B, 1]
    highest = scores.masked_fill(inside | ~live, -torch.inf).amax(1, keepdim=True)
    # A text without words has none inside, one whose words are all in the rationale has none outside.
    lowest = torch.where(lowest.isinf(), highest, lowest)
    highest = torch.where(highest.isinf(), lowest - 1, highest)
    return ((lowest + highest) / 2).nan_to_num(posinf=0.0, neginf=0.0)


def _input_x_gradient(case: Case) -> Tensor:
    """The scores of tokens [R, L], with dropout off and apart from the graph of the loss."""

    def score(rows: Rows, logit_gradient: Tensor) -> Tensor:
        vectors, gradient = output_gradient(case.classifier, rows, logit_gradient)  # [r, l, d]
        return (vectors * gradient).sum(-1)

    constant = replace(case, output=replace(case.output, logits=case.output.logits.detach()))
    return constant.rowwise(score)
