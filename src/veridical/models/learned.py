"""Components that learn: options, a network that is built from them, and its weights in a folder beside them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from typing import Any

import torch
from torch import nn

from veridical.core.component import Component
from veridical.core.errors import UnsupportedError
from veridical.core.folders import MADE_FOR
from veridical.models.weights import check_same_shapes, fingerprint_of, read_weights, write_weights


class Learned(Component):
    """A component with weights.

    Its options say how its network is built, sizes included: they and the weights are all that a folder holds. Two
    components with the same options are equal, whatever they have learned; `fingerprint` tells them apart. The first
    weights are drawn at random, from an option `seed` if there is one.

    `made_for` is the fingerprint of the model that it was trained with; None means that it works with any.

    >>> EXPLAINERS.save(mask, "runs/mask")
    >>> explain(classifier, texts, method="runs/mask")
    """

    made_for: str | None = None

    def build(self) -> nn.Module:
        """A new network."""
        raise NotImplementedError

    @cached_property
    def network(self) -> nn.Module:
        """The network, in eval mode until somebody trains it."""
        with torch.random.fork_rng():
            torch.manual_seed(getattr(self, "seed", 0))
            return self.build().eval()

    @property
    def fingerprint(self) -> str:
        """A hash of the weights as they are now."""
        return fingerprint_of(self.network.state_dict())

    def save_weights(self, folder: str | PathLike[str]) -> None:
        """Write the weights to a folder."""
        write_weights(folder, self.network.state_dict())

    def load_weights(self, folder: str | PathLike[str], told: Mapping[str, Any]) -> None:
        """Take the weights of a folder; `told` is what the file beside them says."""
        found = read_weights(folder)
        check_same_shapes(folder, found, self.network.state_dict())
        self.network.load_state_dict(found)
        self.bind_to(told.get(MADE_FOR))

    def bind_to(self, model: str | None) -> None:
        """Remember the fingerprint of the model that it was trained with."""
        object.__setattr__(self, MADE_FOR, model)  # components are frozen, and this is no option


def check_made_for(thing: object, name: str, fingerprint: str) -> None:
    """Refuse a component that was trained with another model than the one of this fingerprint."""
    made_for = getattr(thing, MADE_FOR, None)
    if made_for not in (None, fingerprint):
        raise UnsupportedError(
            f"{name} was trained with the model {made_for}, and this is the model {fingerprint}",
            remedy="Use it with the model that it was saved with, or train it for this one.",
        )
