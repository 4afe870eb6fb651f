"""A mask that is learned with the model: which words can be taken away without losing the answer?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Count, Positive, Seed, Weight, option
from veridical.core.values import Example
from veridical.explainers import Explainer
from veridical.explainers.learned_mask import LearnedMask as Mask
from veridical.masking import ERASERS, Case, EraserName
from veridical.models import Ability, Classifier
from veridical.objectives.base import CrossEntropy, Objective, check_soft, plain_loss
from veridical.objectives.portion import embeddings_of

_AT_ONCE = 512


@dataclass(frozen=True)
class LearnedMask(Objective):
    """Plain training, and a network that learns which words can be taken away without losing the answer.

    The network gives each word a probability that it is kept. The loss of the text of which only so much is kept should
    be small, and so should the mean of these probabilities. It leaves the explainer `learned-mask`, whose scores they
    are. Costs a forward and a backward pass. Its dev figure is `mask_loss`, the sum of both terms.

    Where `sparsity` is large, the model may learn that a text without words means one of the classes, and then the mask
    keeps no word of that class.
    """

    weight: Weight = option(1.0, "The weight of the plain loss on what is kept of each text.")
    sparsity: Weight = option(0.2, "The weight of the mean probability that a word is kept.")
    eraser: EraserName = option("mask", "How words are taken away in part.")
    width: Count = option(32, "How many units the network's hidden layer has.")
    rate: Positive | None = option(0.01, "The learning rate of the network; none: that of the model's head.")
    seed: Seed = option(0, "Seed of the network's first weights.")
    weights: ClassVar[tuple[str, ...]] = ("weight", "sparsity")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_soft(self.eraser)

    @property
    def needs(self) -> frozenset[Ability]:
        if not (self.weight or self.sparsity):
            return frozenset()
        return frozenset({Ability.EMBEDDINGS, ERASERS.create(self.eraser).needs})

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Objective:
        if not self.needs:
            return self
        size = classifier.embed(classifier.encode(examples[:1]).rows).shape[-1]
        return LearnedMaskOf(self, Mask(size, self.width, self.seed))

    def __call__(self, case: Case) -> dict[str, Tensor]:
        return self.prepared(case.classifier, case.batch.examples)(case) if self.needs else CrossEntropy()(case)


@dataclass(frozen=True)
class LearnedMaskOf(Objective):
    """The objective for a model, with the mask that is trained."""

    settings: LearnedMask
    mask: Mask

    @property
    def needs(self) -> frozenset[Ability]:
        return self.settings.needs

    @property
    def rate(self) -> float | None:
        return self.settings.rate

    @property
    def explainers(self) -> Mapping[str, Explainer]:
        return {"learned-mask": self.mask}

    def __call__(self, case: Case) -> dict[str, Tensor]:
        # Word vectors are constants here: the mask is to find words, not to move them.
        keep = self.mask.kept(case, self.mask.logits(embeddings_of(case).detach()))  # [B, U]
        asked = case.with_eraser(self.settings.eraser)
        logits = asked.ask_with_gradients(torch.arange(len(case)), keep).logits
        return {**CrossEntropy()(case), **self._terms(case, keep, logits)}

    def evaluate(self, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
        total = 0.0
        target = classifier.labels[0] if classifier.is_multi_label else "predicted"  # any: a text is to come once
        for start in range(0, len(examples), _AT_ONCE):
            some = examples[start : start + _AT_ONCE]
            case = Case.bind(classifier, some, target=target, eraser=self.settings.eraser)
            keep = self.mask.scores(case).values
            logits = case.logits(torch.arange(len(case)), keep)
            total += sum(term.item() for term in self._terms(case, keep, logits).values()) * len(case)
        return {"mask_loss": total / len(examples)}

    def _terms(self, case: Case, keep: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """The terms beside the plain loss, given what is kept [B, U] and the outputs [B, C] for that."""
        share = keep.sum(1) / case.live.sum(1).clamp(min=1)  # [B]
        return {
            "kept": self.settings.weight * plain_loss(case.classifier, logits, case.gold),
            "sparsity": self.settings.sparsity * share.mean().to(logits),
        }
