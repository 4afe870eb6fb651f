"""Metrics of erased words: how much probability the first words keep alone or take away, and how far the odds fall."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import AtLeastOne, Presets, Share, Weight, Within, option
from veridical.masking import Case, EraserName
from veridical.masking.erasure import places, share, share_rounded_down, top
from veridical.metrics.base import Measured, Metric, Need

ERASER_RATIOS = (0.01, 0.05, 0.1, 0.2, 0.5)
TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def whole(case: Case) -> Tensor:
    """The target's probability for the whole text, [B]. It was asked for when the case was made."""
    return case.scaled(case.output.logits, case.targets, "prob")


@dataclass(frozen=True)
class Binned(Metric, ABC):
    """The mean over rationales of several sizes, the bins: the first 1%, 5%, 10% ... of a text's words.

    The eraser and the form decide what a value means. The other options are there to follow the definitions of others:
    ERASER (DeYoung et al. 2020), REGEX and ferret; their presets set them. A bin without words is left out.
    """

    ratios: Annotated[tuple[Share, ...], AtLeastOne()] = option(
        ERASER_RATIOS, "The sizes of rationales, as shares of a text's words; the value is the mean over them."
    )
    eraser: EraserName = option("pad", "How words are erased; values by different erasers cannot be compared.")
    form: Literal["normalised", "difference"] = option(
        "normalised",
        "Divide the lost probability by what the empty text loses, the most there is to lose, or leave it as a plain "
        "difference.",
    )
    count: Literal["ceil", "floor"] = option("ceil", "How a share of the words is rounded to a number: up or down.")
    positive: bool = option(False, "Let only words with positive scores into a rationale.")
    repeats: Literal["count", "skip"] = option(
        "count", "Whether a bin that has the same words as the bin before counts again or is left out."
    )
    divide: Literal["bins", "bins+1"] = option(
        "bins", "Divide the sum by the number of bins, or by one more, as some published code does."
    )
    empty: Literal["kept", "wiped"] = option(
        "kept",
        "Whether the empty text keeps its special tokens and held field, or loses them as in some published code.",
    )
    guard: Weight = option(1e-4, "A small number added to the divisor of `form=normalised`, which may be 0.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    presets: ClassVar[Presets] = {
        "regex": {},
        "regex-ood": {"ratios": (0.02, 0.1, 0.2, 0.5), "divide": "bins+1", "empty": "wiped"},
        "eraser": {"form": "difference"},
        "ferret": {
            "ratios": TENTHS,
            "eraser": "delete",
            "form": "difference",
            "count": "floor",
            "positive": True,
            "repeats": "skip",
        },
    }

    @property
    @abstractmethod
    def without_bins(self) -> float:
        """The value of a text without any rationale."""

    @abstractmethod
    def kept(self, rationale: Tensor, live: Tensor) -> Tensor:
        """Which units the model still sees, [B, K, U], for rationales [B, K, U] of live units [B, 1, U]."""

    @abstractmethod
    def of_lost(self, lost: Tensor) -> Tensor:
        """The normalised value of each bin, [B, K], from the share of the probability that is lost, [B, K]."""

    def questions(self, units: int) -> int:
        return len(self.ratios) + (self.form == "normalised")

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        sizes = self._sizes(scores, case.live)  # [B, K]
        rationale = top(places(scores, case.live), sizes)  # [B, K, U]
        kept = self.kept(rationale, case.live[:, None])
        curve, details = self._plain(case, kept) if self.form == "difference" else self._normalised(case, kept)
        # A bin that does not count is undefined and not 0: means over documents must not see it.
        curve = curve.masked_fill(~self._counted(sizes), torch.nan)
        return Measured(self._mean(curve, self._counted(sizes)), curve, self.ratios, details)

    def _sizes(self, scores: Tensor, live: Tensor) -> Tensor:
        """The number of words in each rationale, [B, K]."""
        counted = share if self.count == "ceil" else share_rounded_down
        sizes = torch.stack([counted(ratio, live.sum(1)) for ratio in self.ratios], 1)  # [B, K]
        if not self.positive:
            return sizes
        # The ranking puts positive words first, so leaving the others out is to stop earlier.
        return torch.minimum(sizes, (live & (scores > 0)).sum(1, keepdim=True))

    def _counted(self, sizes: Tensor) -> Tensor:
        """Which bins count, [B, K]. Rationales are nested, so those of one size are the same."""
        counted = sizes > 0
        if self.repeats == "skip":
            # Growing ratios give growing sizes: equal ones stand side by side, and the first of them counts.
            counted[:, 1:] &= sizes[:, 1:] != sizes[:, :-1]
        return counted

    def _plain(self, case: Case, kept: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return whole(case)[:, None] - case.with_eraser(self.eraser).value(kept), {}

    def _normalised(self, case: Case, kept: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        erased = case.with_eraser(self.eraser)
        nothing = torch.zeros_like(case.live)[:, None]
        if self.empty == "kept":
            # One more bin without any word, so that the empty text shares the batches of the others.
            values = erased.value(torch.cat([kept, nothing], 1))
            values, empty = values[:, :-1], values[:, -1]
        else:
            values, empty = erased.value(kept), erased.blank()
        # Erasing may raise the probability; what is gained is no loss, and a share is at most 1.
        most = (whole(case) - empty).clamp(min=0) + self.guard
        lost = (whole(case)[:, None] - values).clamp(min=0) / most[:, None]  # [B, K]
        return self.of_lost(lost.clamp(max=1)), {"empty": empty}

    def _mean(self, curve: Tensor, counted: Tensor) -> Tensor:
        bins = counted.sum(1)
        total = curve.masked_fill(~counted, 0).sum(1)
        # A text without bins gets its value below; dividing by at least 1 keeps NaN out until then.
        mean = total / (bins + (self.divide == "bins+1")).clamp(min=1)
        return mean.masked_fill(bins == 0, self.without_bins)


@dataclass(frozen=True)
class Comprehensiveness(Binned):
    """How much of the class's probability is lost without the words that matter most.

    Choose it together with `sufficiency`: the words of a good explanation are needed (without them the class is lost)
    and they are enough (alone they keep it).
    """

    meaning: ClassVar[str] = (
        "The probability lost without the first words, by default as a share of what there is to lose."
    )
    weakness: ClassVar[str] = (
        "Texts with holes are unlike those the model was trained on. Low where other words would do as well, whatever "
        "the order, and it depends on how words are erased."
    )

    @property
    def without_bins(self) -> float:
        return 0.0

    def kept(self, rationale: Tensor, live: Tensor) -> Tensor:
        return live & ~rationale

    def of_lost(self, lost: Tensor) -> Tensor:
        return lost


@dataclass(frozen=True)
class Sufficiency(Binned):
    """How much of the class's probability the words that matter most keep when they stand alone.

    Normalised, 1 is best. With `form=difference` it is what is lost, so that lower is better.
    """

    meaning: ClassVar[str] = (
        "The probability that the first words alone keep, as a share of what there is to lose; as a difference, what "
        "they lose."
    )
    weakness: ClassVar[str] = (
        "A few words are unlike any text the model was trained on. High for every order where the empty text already "
        "gets the class, and it depends on how words are erased."
    )

    @property
    def greater_is_better(self) -> bool:
        return self.form == "normalised"

    @property
    def without_bins(self) -> float:
        return 0.0 if self.form == "normalised" else 1.0

    def kept(self, rationale: Tensor, live: Tensor) -> Tensor:
        return live & rationale

    def of_lost(self, lost: Tensor) -> Tensor:
        return 1 - lost


@dataclass(frozen=True)
class LogOdds(Metric):
    """The log-odds of the target minus those with the words of the explanation masked (L2E).

    Choose it where the model is sure of everything: probabilities near 1 hardly move, log-odds do. Undefined where the
    explanation has no such words.
    """

    words: Literal["top", "positive", "negative"] = option(
        "top",
        "Which words are masked: the first ones, or all with positive or all with negative scores; without negative "
        "words the odds should rise, so there lower is better.",
    )
    ratio: Share = option(0.3, "The share of the text's words that `words=top` masks.")
    eraser: EraserName = option("mask", "How words are erased; values by different erasers cannot be compared.")
    clamp: Annotated[float, Within(0, 0.5, open=True)] = option(
        1e-6, "How far probabilities are kept from 0 and 1, where log-odds are infinite."
    )
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES})
    meaning: ClassVar[str] = "How far the log-odds of the class fall when the words of the explanation are masked."
    weakness: ClassVar[str] = (
        "Without bounds: a few texts of which the model is very sure can decide the mean. All positive words of a "
        "method that calls every word positive are the whole text."
    )
    presets: ClassVar[Presets] = {
        "l2e": {},
        "l2e-positive": {"words": "positive"},
        "l2e-negative": {"words": "negative"},
    }

    @property
    def greater_is_better(self) -> bool:
        return self.words != "negative"

    def questions(self, units: int) -> int:
        return 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        gone = case.live & self._words(scores, case.live)  # [B, U]
        left = case.with_eraser(self.eraser).logits(torch.arange(len(case)), case.live & ~gone)  # [B, C]
        fall = self._odds(case, case.output.logits) - self._odds(case, left)
        # Where nothing is masked the odds stay, which would look like an explanation without effect.
        return Measured(fall.masked_fill(~gone.any(1), torch.nan))

    def _words(self, scores: Tensor, live: Tensor) -> Tensor:
        """Which units are words of the explanation, [B, U]."""
        if self.words == "top":
            return top(places(scores, live), share(self.ratio, live.sum(1))[:, None])[:, 0]
        return scores > 0 if self.words == "positive" else scores < 0

    def _odds(self, case: Case, logits: Tensor) -> Tensor:
        """The log-odds of the targets, [B], from logits [B, C], as far from 0 as the clamped probabilities allow."""
        # Not by way of probabilities: near 1 they hardly differ any more, and the odds would be off by whole percents.
        odds = logits.double().gather(1, case.targets[:, None])[:, 0]
        if not case.classifier.is_multi_label:
            target = torch.zeros_like(logits, dtype=torch.bool).scatter(1, case.targets[:, None], True)
            odds = odds - logits.double().masked_fill(target, -torch.inf).logsumexp(1)
        most = math.log1p(-self.clamp) - math.log(self.clamp)
        return odds.clamp(-most, most)
