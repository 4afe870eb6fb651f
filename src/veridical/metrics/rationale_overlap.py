"""Rationale overlap: how many of the words that an explanation picks are the words that people marked."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Count, Presets, Share, option
from veridical.core.stop_words import is_stop_word
from veridical.masking import Case
from veridical.masking.erasure import HIGH_POSITIVE, LOW_POSITIVE, levels, places, share
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.evidence import Field, gold, judged

Words = Literal["high-positive", "top", "top-k", "as-many"]

_FERRET: dict[str, object] = {"words": "top-k", "positive": True, "empty": "zero"}


@dataclass(frozen=True)
class Overlap(Metric):
    """Compares the words that an explanation picks with the words that people marked.

    Precision, recall, F1 and IoU share this; they differ in what they divide by. Examples without evidence are
    undefined.
    """

    words: Words = option(
        "high-positive",
        "Which words are picked: those that score above the mean of the positive scores (all positive ones if none "
        "does), the first share, the first `k`, or as many of the first as people marked.",
    )
    ratio: Share = option(0.3, "The share of the text's words that `words=top` picks.")
    k: Count = option(5, "How many words `words=top-k` picks.")
    positive: bool = option(False, "Leave out picked words that have no positive score.")
    stop_words: bool = option(True, "Count stop words; false leaves them out of the picked and of the marked words.")
    empty: Literal["undefined", "zero"] = option(
        "undefined", "What the value is where no word is picked: undefined, which leaves means alone, or 0."
    )
    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    percent: ClassVar[bool] = True
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "l2e": {},
        "l2e-code": {"stop_words": False},
        "ferret": _FERRET,
    }

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        counted = case.live if self.stop_words else case.live & ~_stop_words(case)
        reasons = gold(case)
        # Stop words are left out after words are picked: they take their places in the ranking first.
        chosen = self._chosen(scores, case.live, reasons) & counted
        reasons = reasons & counted
        both, picked, marked = (chosen & reasons).sum(1), chosen.sum(1), reasons.sum(1)  # [B] each
        # Without a shared word every one of the measures is 0, also where it would be 0 / 0.
        values = self.measure(both.double(), picked.double(), marked.double()).masked_fill(both == 0, 0.0)
        nothing = (picked == 0) & (self.empty == "undefined")  # [B]
        return Measured(values.masked_fill((marked == 0) | nothing, torch.nan))

    @staticmethod
    @abstractmethod
    def measure(both: Tensor, picked: Tensor, marked: Tensor) -> Tensor:
        """The metric [B] from the numbers of words [B] that are picked, marked, and both."""

    def _chosen(self, scores: Tensor, live: Tensor, reasons: Tensor) -> Tensor:
        """Which units the explanation picks, [B, U]."""
        if self.words == "high-positive":
            level = levels(scores, live)
            # Nothing lies above the mean when all positive scores are equal; then all of them are picked.
            high, low = (live & (level == which) for which in (HIGH_POSITIVE, LOW_POSITIVE))  # [B, U] each
            chosen = torch.where(high.any(1, keepdim=True), high, low)
        else:
            chosen = live & (places(scores, live) < self._count(live, reasons)[:, None])
        return chosen & (scores > 0) if self.positive else chosen

    def _count(self, live: Tensor, reasons: Tensor) -> Tensor:
        """How many of the first words are picked, [B]."""
        units = live.sum(1)
        if self.words == "top":
            return share(self.ratio, units)
        return reasons.sum(1) if self.words == "as-many" else torch.full_like(units, self.k)


@dataclass(frozen=True)
class RationalePrecision(Overlap):
    """The share of the picked words that people marked, too."""

    meaning: ClassVar[str] = "The share of the words that the explanation picks which people marked, too."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Picking one safe word is enough."
    )

    @staticmethod
    def measure(both: Tensor, picked: Tensor, marked: Tensor) -> Tensor:
        return both / picked


@dataclass(frozen=True)
class RationaleRecall(Overlap):
    """The share of the words people marked that the explanation picks, too."""

    meaning: ClassVar[str] = "The share of the words people marked which the explanation picks, too."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Picking all words is enough, and a "
        "model may need only one of many marked words."
    )

    @staticmethod
    def measure(both: Tensor, picked: Tensor, marked: Tensor) -> Tensor:
        return both / marked


@dataclass(frozen=True)
class RationaleF1(Overlap):
    """The harmonic mean of precision and recall of the picked words."""

    meaning: ClassVar[str] = "The harmonic mean of precision and recall of the words that the explanation picks."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Hangs on how many words are picked."
    )

    @staticmethod
    def measure(both: Tensor, picked: Tensor, marked: Tensor) -> Tensor:
        return 2 * both / (picked + marked)


@dataclass(frozen=True)
class RationaleIoU(Overlap):
    """The words both picked and marked, over those picked or marked."""

    meaning: ClassVar[str] = "The words that the explanation picks and people marked, over those of either."
    weakness: ClassVar[str] = RationaleF1.weakness
    presets: ClassVar[Presets] = {"ferret": _FERRET}

    @staticmethod
    def measure(both: Tensor, picked: Tensor, marked: Tensor) -> Tensor:
        return both / (picked + marked - both)


def _stop_words(case: Case) -> Tensor:
    """Which units are stop words, [B, U]."""
    found = torch.zeros_like(case.live)
    for row, units in enumerate(case.batch.units):
        found[row, : len(units)] = torch.tensor([is_stop_word(unit) for unit in units], dtype=torch.bool)
    return found


@dataclass(frozen=True)
class RationaleRecallAtK(Metric):
    """The share of the words people marked that are among the first `k` words of the explanation (SMaT).

    Documents without a marked word are undefined.
    """

    k: Count = option(5, "How many of the first words count as found.")
    field: Field = option("all", "Judge the words of one text of a pair only.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    meaning: ClassVar[str] = "The share of the words people marked that are among the first k of the explanation."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Cannot reach 1 where more than k "
        "words are marked."
    )
    comparable: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        here = judged(case, self.field)
        reasons = gold(case) & here
        marked = reasons.sum(1)
        # Places are counted within the judged field: words of the other text take none.
        found = (reasons & (places(scores, here) < self.k)).sum(1)  # [B]
        return Measured((found / marked).masked_fill(marked == 0, torch.nan))
