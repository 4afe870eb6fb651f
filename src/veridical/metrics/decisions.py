"""Metrics of decisions: do the words that matter decide, alone or by their absence?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Count, Presets, Share, option
from veridical.masking import Case, EraserName
from veridical.masking.erasure import HIGH_POSITIVE, LOW_POSITIVE, levels, places, share, top
from veridical.metrics.base import Measured, Metric, Need, Subject, known_gold


@dataclass(frozen=True)
class Accuracy(Metric):
    """1 where the model decides for the gold label, 0 where it does not.

    It judges the model and not explanations: the scores are not read. So a change of training that is meant to give
    better explanations is held to what it does to decisions, on the same documents and by the same tests.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.ONE_CLASS})
    subject: ClassVar[Subject] = "model"
    meaning: ClassVar[str] = "How often the model decides for the gold label."
    weakness: ClassVar[str] = (
        "Says nothing of explanations. Where one class is much more frequent, always deciding for it looks good."
    )
    fewest: ClassVar[int] = 1
    percent: ClassVar[bool] = True
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        found = zip(known_gold(case), case.output.logits.argmax(1).tolist(), strict=True)
        return Measured(torch.tensor([math.nan if gold is None else float(gold == made) for gold, made in found]))


@dataclass(frozen=True)
class DecisionFlip(Metric):
    """The share of words, erased from the most important on, at which the predicted class changes; 1 if it never does.

    Choose it to see decisions and not probabilities (Serrano and Smith 2019; SaLoss). After each step, only the texts
    that have not flipped yet are asked about again. Where a text may have several labels, the decision is whether the
    label that is explained is among them.
    """

    step: Share = option(0.05, "The share of a text's words that is erased in each step, at least one word.")
    grid: Literal["even", "reference"] = option(
        "even", "How steps begin: `even` with a whole step, `reference` with one word, as in SaLoss's published code."
    )
    eraser: EraserName = option("pad", "How words are erased; values by different erasers cannot be compared.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = (
        "The share of words that must be erased, in the order of their scores, until the decision flips."
    )
    weakness: ClassVar[str] = (
        "Depends on what the model says of an empty text: a class that it falls back to never flips. Erased texts are "
        "unlike those the model was trained on."
    )
    greater_is_better = False
    presets: ClassVar[Presets] = {
        "saloss": {},
        "saloss-text": {"eraser": "delete"},
        "saloss-code": {"grid": "reference"},
    }

    def questions(self, units: int) -> int:
        return math.ceil(units / max(1, round(self.step * units))) + 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        erased = case.with_eraser(self.eraser)
        place, live = places(scores, case.live), case.live
        units, before = live.sum(1), case.decisions(case.output.logits, torch.arange(len(case)))
        stride = (self.step * units.double()).round().clamp(min=1).long()  # [B]: words per step
        share, flipped = torch.ones(len(case)), torch.zeros(len(case), dtype=torch.bool)
        gone = stride if self.grid == "even" else torch.ones_like(stride)
        undecided = torch.nonzero(units > 0)[:, 0]  # an empty text has nothing to erase and keeps the share 1
        while len(undecided):
            count = torch.minimum(gone, units)[undecided]  # the last step takes what is left
            keep = live[undecided] & (place[undecided] >= count[:, None])
            flips = case.decisions(erased.logits(undecided, keep), undecided) != before[undecided]
            share[undecided[flips]] = (count / units[undecided])[flips]
            flipped[undecided[flips]] = True
            undecided = undecided[~flips & (count < units[undecided])]
            gone = gone + stride
        return Measured(share, details={"flipped": flipped.float(), "share": share})


@dataclass(frozen=True)
class PostHocAccuracy(Metric):
    """1 where the first words alone, in the order of the text, get the class of the whole text, else 0.

    The model's own decision counts, not the gold label (Chen et al. 2018; SCC). `prediction-agreement` keeps a share of
    a text instead of a number of words. Where a text may have several labels, the decision is whether the one that is
    explained is among them.
    """

    words: Count = option(4, "How many of the first words are kept.")
    curve: tuple[Count, ...] = option((), "Other numbers of words, for a curve; each takes a question.")
    eraser: EraserName = option("delete", "How the other words are erased; mask layers are trained with `zero_output`.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = "How often the first words alone get the same class as the whole text."
    weakness: ClassVar[str] = (
        "Always 1 for texts with no more words than are kept, and often for a class that the model falls back to. A "
        "fixed number of words is all of a short text and little of a long one."
    )
    percent: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "scc": {},
        "scc-trained": {"eraser": "zero_output"},
        "scc-curve": {"curve": tuple(range(1, 11))},
    }

    def questions(self, units: int) -> int:
        return 1 + len(self.curve)

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        counts = torch.tensor([self.words, *self.curve]).expand(len(case), -1)  # [B, K]
        keep = case.live[:, None] & top(places(scores, case.live), counts)  # [B, K, U]
        each = torch.arange(len(case)).repeat_interleave(counts.shape[1])
        found = case.decisions(case.with_eraser(self.eraser).logits(each, keep.flatten(0, 1)), each).view_as(counts)
        agrees = (found == case.decisions(case.output.logits, torch.arange(len(case)))[:, None]).float()
        details = {"class": found[:, 0].float()}
        if not self.curve:
            return Measured(agrees[:, 0], details=details)
        return Measured(agrees[:, 0], agrees[:, 1:], tuple(float(count) for count in self.curve), details)


@dataclass(frozen=True)
class PredictionAgreement(Metric):
    """1 where the words of the explanation, all others masked, get the class of the whole text, else 0 (L2E).

    The detail `class` is the class that the model predicts for these words, so that two methods can be compared with
    each other. Where a text may have several labels, it is 1 if the one that is explained is predicted. With
    `words=high-positive` the value is undefined where no word is kept, or every word.
    """

    words: Literal["top", "high-positive"] = option(
        "top",
        "Which words are kept: the first ones, or those that score above the mean of the positive scores (all positive "
        "ones if none does).",
    )
    ratio: Share = option(0.3, "The share of the text's words that `words=top` keeps.")
    eraser: EraserName = option("mask", "How the other words are erased.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = "How often the words of the explanation alone get the same class as the whole text."
    weakness: ClassVar[str] = (
        "Easy for a class that the model falls back to: a fully masked text may agree. Says nothing of the order "
        "among the words that are kept."
    )
    percent: ClassVar[bool] = True
    presets: ClassVar[Presets] = {"l2e": {}, "l2e-labels": {"words": "high-positive"}}

    def questions(self, units: int) -> int:
        return 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        keep = self._words(scores, case.live)  # [B, U]
        each = torch.arange(len(case))
        found = case.decisions(case.with_eraser(self.eraser).logits(each, keep), each)
        agrees = (found == case.decisions(case.output.logits, each)).float()
        undecided = self._undefined(keep, case.live)
        return Measured(
            agrees.masked_fill(undecided, torch.nan), details={"class": found.float().masked_fill(undecided, torch.nan)}
        )

    def _words(self, scores: Tensor, live: Tensor) -> Tensor:
        """Which units are kept, [B, U]."""
        if self.words == "top":
            return live & top(places(scores, live), share(self.ratio, live.sum(1))[:, None])[:, 0]
        level = levels(scores, live)
        # Nothing lies above the mean when all positive scores are equal; then all of them are kept.
        high = level == HIGH_POSITIVE
        return torch.where(high.any(1, keepdim=True), high, level == LOW_POSITIVE)

    def _undefined(self, keep: Tensor, live: Tensor) -> Tensor:
        # `top` always keeps the share that was asked for. Levels may keep nothing, or the whole text, by accident.
        count = keep.sum(1)
        return (self.words == "high-positive") & ((count == 0) | (count == live.sum(1)))
