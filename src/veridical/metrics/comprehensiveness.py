"""Comprehensiveness: does the model lose its reasons when the rationale is taken away?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from veridical.metrics.erasure import Binned


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
    greater_is_better: ClassVar[bool] = True

    @property
    def without_bins(self) -> float:
        return 0.0

    def kept(self, rationale: Tensor, live: Tensor) -> Tensor:
        return live & ~rationale

    def of_lost(self, lost: Tensor) -> Tensor:
        return lost
