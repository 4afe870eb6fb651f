"""How far the words that scores choose are the words that people chose."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.masking import Case
from veridical.masking.ranking import HIGH_POSITIVE, LOW_POSITIVE, levels, places, share
from veridical.metrics.base import Measured, Metric, Need
from veridical.metrics.evidence import Field, gold, is_stop_word, judged

Words = Literal["high-positive", "top", "top-k", "as-many"]

_FERRET: dict[str, object] = {"words": "top-k", "positive": True, "empty": "zero"}


@dataclass(frozen=True)
class Overlap(Metric):
    """What the four have in common: which words an explanation picks, and how many of them are marked.

    `words` says what is picked: `high-positive`, scores above the mean of the positive ones (or all positive ones if
    none is); `top`, the first `ratio`; `top-k`, the first `k`; `as-many` as people marked. `positive` leaves out picked
    words without a positive score, `stop_words=false` leaves stop words out of both sides. Where nothing is picked, the
    metric is `undefined` or `zero`. Examples without evidence are undefined.
    """

    words: Words = "high-positive"
    ratio: float = 0.3
    k: int = 5
    positive: bool = False
    stop_words: bool = True
    empty: Literal["undefined", "zero"] = "undefined"
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
        chosen = self._chosen(scores, case.live, reasons) & counted
        reasons = reasons & counted
        both, picked, marked = (chosen & reasons).sum(1), chosen.sum(1), reasons.sum(1)  # [B] each
        values = self.measure(both.double(), picked.double(), marked.double()).masked_fill(both == 0, 0.0)
        nothing = (picked == 0) & (self.empty == "undefined")
        return Measured(values.masked_fill((marked == 0) | nothing, torch.nan))

    @staticmethod
    @abstractmethod
    def measure(both: Tensor, picked: Tensor, marked: Tensor) -> Tensor:
        """The metric [B] from the numbers of words [B] that are picked, marked, and both."""

    def _chosen(self, scores: Tensor, live: Tensor, reasons: Tensor) -> Tensor:
        if self.words == "high-positive":
            level = levels(scores, live)
            high, low = (live & (level == which) for which in (HIGH_POSITIVE, LOW_POSITIVE))
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
    found = torch.zeros_like(case.live)
    for row, units in enumerate(case.batch.units):
        found[row, : len(units)] = torch.tensor([is_stop_word(unit) for unit in units], dtype=torch.bool)
    return found


@dataclass(frozen=True)
class RationaleRecallAtK(Metric):
    """The share of the words people marked that are among the first `k`.

    `field` judges one text of a pair only. Documents without a marked word are undefined.
    """

    k: int = 5
    field: Field = "all"
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
        found = (reasons & (places(scores, here) < self.k)).sum(1)
        return Measured((found / marked).masked_fill(marked == 0, torch.nan))
