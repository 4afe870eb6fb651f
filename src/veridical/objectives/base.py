"""What every objective is: settings, what it wants from the forward pass, and a call that gives named losses."""

from __future__ import annotations

from typing import ClassVar, Protocol

from torch import Tensor

from veridical.masking import Case


class Objective(Protocol):
    """A training loss on a case whose `output` carries gradients.

    `needs` are abilities of the classifier; with `attentions` or `hidden` the forward pass also returns those. An
    objective that is a torch module has its own weights trained, saved and resumed with the model.
    """

    needs: ClassVar[frozenset[str]]

    def __call__(self, case: Case) -> dict[str, Tensor]:
        """Named terms; the trainer minimises their sum."""
        ...
