"""What every explainer is: settings, what it needs, what it costs, and `scores`."""

from __future__ import annotations

from typing import ClassVar, Protocol

from torch import Tensor

from veridical.masking import Case


class Explainer(Protocol):
    """A method that scores the units of a case, positive where a unit speaks for the target.

    `needs` are abilities of the classifier; a model without them is refused by name. `cost` says, for `n` units, how
    many passes of the model one explanation takes.
    """

    needs: ClassVar[frozenset[str]]
    cost: ClassVar[str]

    def scores(self, case: Case) -> Tensor:
        """One score per unit, [B, U]; slots that are not live are 0."""
        ...
