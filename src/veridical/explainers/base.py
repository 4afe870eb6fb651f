"""What every explainer is: settings, what it needs, what it costs, and `scores`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from veridical.core.component import Component
from veridical.masking import Case
from veridical.models import Ability


@dataclass(frozen=True)
class Scores:
    """What a method found: `values` [B, U], one score per unit; slots that are not live are 0.

    A method that draws samples also gives `margins` [B, U], half the width of a 95% interval around each value. A
    method whose scores should add up to something gives the `measures` [B] that `adding_up` makes.
    """

    values: Tensor
    margins: Tensor | None = None
    measures: Mapping[str, Tensor] = field(default_factory=dict)


def adding_up(total: Tensor, difference: Tensor) -> dict[str, Tensor]:
    """The measures of scores with this total [B] where this difference [B] between two outputs is to be explained."""
    return {"difference": difference, "residual": total - difference}


class Explainer(Component):
    """A method that scores the units of a case, positive where a unit speaks for the target.

    `needs` are abilities of the classifier; a model without them is refused by name. `cost` says, for `n` units, how
    many passes of the model one explanation takes after the prediction. `meaning` says what a score is, and `weakness`
    where not to trust it: they help people choose. `total` says what the scores add up to, where there is a residual;
    `margins` what the margins cover, where there are some.
    """

    needs: ClassVar[frozenset[Ability]] = frozenset()
    cost: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    weakness: ClassVar[str] = ""
    total: ClassVar[str] = ""
    margins: ClassVar[str] = ""

    def passes(self, units: int) -> int:
        """The most model inputs that an example of so many units takes, beside the one that binds it to its case."""
        return 1

    def scores(self, case: Case) -> Scores:
        """The scores of a case's units."""
        raise NotImplementedError
