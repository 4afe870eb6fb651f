"""Sufficiency: is the rationale alone enough for the model to say the same?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from veridical.metrics.erasure import Binned


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
