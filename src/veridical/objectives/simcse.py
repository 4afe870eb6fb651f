"""SimCSE: two passes over a text, which differ by dropout alone, should agree on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from veridical.core.component import Positive, Weight, option
from veridical.masking import Case
from veridical.models import Ability
from veridical.objectives.base import CrossEntropy, Objective
from veridical.objectives.contrast import two_views


@dataclass(frozen=True)
class SimCSE(Objective):
    """Plain training, and vectors by which a text is known from all others of its batch (Gao et al. 2021).

    The second view of a text is another pass, with other dropout; without dropout there is nothing to learn. With
    `plain=0` no label is read: that trains an encoder for `veridical train --model` to begin with.
    """

    weight: Weight = option(0.1, "The weight of the contrastive loss.")
    temperature: Positive = option(0.05, "What similarities are divided by.")
    plain: Weight = option(1.0, "The weight of the plain loss.")
    weights: ClassVar[tuple[str, ...]] = ("weight",)

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset({Ability.POOLED}) if self.weight else frozenset()

    @property
    def base(self) -> float | None:
        return self.plain or None

    def __call__(self, case: Case) -> dict[str, Tensor]:
        terms = {name: self.plain * value for name, value in CrossEntropy()(case).items()} if self.plain else {}
        if self.weight:
            first, second = case.output.pooled, case.run(case.batch.rows, pooled=True).pooled
            assert first is not None
            assert second is not None
            terms["views"] = self.weight * two_views(first, second, self.temperature)
        return terms
