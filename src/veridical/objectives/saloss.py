"""SaLoss: attention is taught to look where a text's own structure says the important words are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, Weight, option
from veridical.core.values import Example
from veridical.explainers.attention import last_cls, over_heads
from veridical.masking import Case
from veridical.models import Ability, Batch, Classifier
from veridical.objectives.base import CrossEntropy, Objective
from veridical.objectives.portion import kl, mean_over_examples
from veridical.objectives.salience import SALIENCES, Corpus, SalienceName
from veridical.objectives.salience.base import Scorer, Words, pieces_of, places_of, remembering

_FLOOR = 1e-10


@dataclass(frozen=True)
class SaLoss(Objective):
    """Plain training, and `lam` times the divergence KL(attention || salience) of each text.

    The salience loss of Chrysostomou & Aletras (2021). Attention is what the first token attends to in the last layer,
    over the words' tokens. A text without words adds 0.
    """

    lam: Weight = option(1e-3, "The weight of the divergence.")
    salience: SalienceName = option(
        "textrank", "How important word pieces are found: chi2, random, textrank, tf-idf, uniform, with their options."
    )
    normaliser: Literal["softmax", "sum"] = option("softmax", "What makes a distribution of saliences.")
    form: Literal["text", "code"] = option(
        "text",
        "The term as the paper writes it, or as its published code has it: attention goes through another softmax, "
        "special tokens take part with salience 0, and the divergences of a batch are summed and squared.",
    )
    weights: ClassVar[tuple[str, ...]] = ("lam",)
    presets: ClassVar[Presets] = {"saloss-code": {"salience": "textrank(preset=saloss-code)", "form": "code"}}

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset({Ability.CLS_ATTENTIONS}) if self.lam else frozenset()

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Objective:
        if not self.lam:
            return self
        salience = SALIENCES.create(self.salience)
        words: Words = getattr(salience, "words", "all")  # a class of somebody else need not have the option
        first = classifier.encode(list(examples[:1]))
        pieces_of(first, places_of(first, words))  # refuses images
        score = salience.fitted(Corpus(classifier, examples, words))
        return SaLossOf(self, remembering(score), words)

    def __call__(self, case: Case) -> dict[str, Tensor]:
        if not self.lam:
            return CrossEntropy()(case)
        return self.prepared(case.classifier, case.batch.examples)(case)


@dataclass(frozen=True)
class SaLossOf(Objective):
    """SaLoss with a salience that has seen its training data."""

    settings: SaLoss
    score: Scorer
    words: Words = "all"

    @property
    def needs(self) -> frozenset[Ability]:
        return self.settings.needs

    def __call__(self, case: Case) -> dict[str, Tensor]:
        term = self._as_in_code(case) if self.settings.form == "code" else self._as_in_text(case)
        return {**CrossEntropy()(case), "salience": self.settings.lam * term}

    def _as_in_text(self, case: Case) -> Tensor:
        rows = case.batch.rows
        attention = last_cls(case.output, rows).float()  # [R, L]
        salience = self._salience(case.batch, rows.unit_of >= 0)
        return mean_over_examples(case, kl(attention, salience.to(attention)))

    def _as_in_code(self, case: Case) -> Tensor:
        rows = case.batch.rows
        assert case.output.attentions is not None
        shown = over_heads(case.output.as_read(case.output.attentions[-1]), rows).float()  # [R, L]
        there = torch.arange(shown.shape[1]) < rows.lengths[:, None]
        attention = shown.masked_fill(~there.to(shown.device), -torch.inf).softmax(-1)
        return kl(attention, self._salience(case.batch, there).to(attention)).sum().square()

    def _salience(self, batch: Batch, where: Tensor) -> Tensor:
        """Each token's share of the salience of its row, [R, L]; 0 but at some positions."""
        places = places_of(batch, self.words)
        scores = torch.zeros(places.shape)
        found = [torch.as_tensor(self.score(pieces), dtype=torch.float32) for pieces in pieces_of(batch, places)]
        scores[places] = torch.cat(found)
        return shares(scores, where, self.settings.normaliser)


def shares(scores: Tensor, where: Tensor, how: Literal["softmax", "sum"]) -> Tensor:
    """A distribution over some positions of each row, made of scores [R, L]; all 0 in a row without positions."""
    if how == "softmax":
        return scores.masked_fill(~where, -torch.inf).softmax(-1).nan_to_num()
    floored = scores.clamp(min=_FLOOR) * where
    return floored / floored.sum(1, keepdim=True).clamp(min=_FLOOR)
