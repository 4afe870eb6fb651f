"""Sufficiency and comprehensiveness: what is left of the answer with only the best words, or without them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.masking import Case
from veridical.masking.ranking import places, share, share_rounded_down, top
from veridical.metrics.base import Measured, Metric, Need

ERASER_RATIOS = (0.01, 0.05, 0.1, 0.2, 0.5)
TENTHS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def whole(case: Case) -> Tensor:
    """The target's probability for the whole text, [B]. It was asked for when the case was made."""
    return case.scaled(case.output.logits, case.targets, "prob")


@dataclass(frozen=True)
class Binned(Metric, ABC):
    """The mean over rationales of several sizes, the bins: the first words that make up each of `ratios` of a text.

    `form=normalised` measures a loss of probability against that of the empty text, the most there is to lose, and
    `difference` leaves it as it is. `guard` keeps that division from 0 / 0. With `empty=wiped` the empty text has no
    special tokens (and no held field) either, as in some published code.

    The others are for other definitions: `count=floor` rounds words down; `positive` lets only words with positive
    scores into a rationale; bins without words are left out; `repeats=skip` leaves out a bin with the words of the one
    before; `divide=bins+1` divides by one more than there are bins.
    """

    ratios: tuple[float, ...] = ERASER_RATIOS
    eraser: str = "pad"
    form: Literal["normalised", "difference"] = "normalised"
    count: Literal["ceil", "floor"] = "ceil"
    positive: bool = False
    repeats: Literal["count", "skip"] = "count"
    divide: Literal["bins", "bins+1"] = "bins"
    empty: Literal["kept", "wiped"] = "kept"
    guard: float = 1e-4
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
        """What is left of the texts [B, 1, U] when it comes to their rationales [B, K, U]."""

    @abstractmethod
    def of_lost(self, lost: Tensor) -> Tensor:
        """The normalised value of each bin from the share of probability it loses, [B, K]."""

    def questions(self, units: int) -> int:
        return len(self.ratios) + (self.form == "normalised")

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        sizes = self._sizes(scores, case.live)  # [B, K]
        rationale = top(places(scores, case.live), sizes)  # [B, K, U]
        kept = self.kept(rationale, case.live[:, None])
        curve, details = self._plain(case, kept) if self.form == "difference" else self._normalised(case, kept)
        curve = curve.masked_fill(~self._counted(sizes), torch.nan)
        return Measured(self._mean(curve, self._counted(sizes)), curve, self.ratios, details)

    def _sizes(self, scores: Tensor, live: Tensor) -> Tensor:
        """The number of words in each rationale, [B, K]."""
        counted = share if self.count == "ceil" else share_rounded_down
        sizes = torch.stack([counted(ratio, live.sum(1)) for ratio in self.ratios], 1)
        if not self.positive:
            return sizes
        return torch.minimum(sizes, (live & (scores > 0)).sum(1, keepdim=True))

    def _counted(self, sizes: Tensor) -> Tensor:
        """Which bins count, [B, K]. Rationales are nested, so those of one size are the same."""
        counted = sizes > 0
        if self.repeats == "skip":
            counted[:, 1:] &= sizes[:, 1:] != sizes[:, :-1]
        return counted

    def _plain(self, case: Case, kept: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return whole(case)[:, None] - case.with_eraser(self.eraser).value(kept), {}

    def _normalised(self, case: Case, kept: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        erased = case.with_eraser(self.eraser)
        nothing = torch.zeros_like(case.live)[:, None]
        if self.empty == "kept":
            values = erased.value(torch.cat([kept, nothing], 1))
            values, empty = values[:, :-1], values[:, -1]
        else:
            values, empty = erased.value(kept), erased.blank()
        most = (whole(case) - empty).clamp(min=0) + self.guard
        lost = (whole(case)[:, None] - values).clamp(min=0) / most[:, None]
        return self.of_lost(lost.clamp(max=1)), {"empty": empty}

    def _mean(self, curve: Tensor, counted: Tensor) -> Tensor:
        bins = counted.sum(1)
        total = curve.masked_fill(~counted, 0).sum(1)
        mean = total / (bins + (self.divide == "bins+1")).clamp(min=1)
        return mean.masked_fill(bins == 0, self.without_bins)


@dataclass(frozen=True)
class Comprehensiveness(Binned):
    """How much of the class's probability goes with the words that matter most.

    The counterpart of sufficiency, with the same options: those of `Binned`.
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
    """How much of the class's probability the words that matter most keep up alone.

    Normalised, 1 is best. As a `difference` it is what is lost, so that lower is better. The options are those of
    `Binned`.
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
