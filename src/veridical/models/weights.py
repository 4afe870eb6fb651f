"""Weights: fingerprints, files without pickles, running with other ones, and components that learn some."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.func import functional_call

from veridical.core.component import Component
from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.core.folders import MADE_FOR
from veridical.core.storage import replacing
from veridical.models.classifier import fingerprint_of

WEIGHTS_FILE = "weights.safetensors"
"""The weights of a learned component, beside its options."""

AGAIN = "Train or copy it again."

Weights = Mapping[str, Tensor]
"""Tensors by their names."""

T = TypeVar("T")


def write_weights(folder: str | PathLike[str], weights: Weights) -> None:
    """Write weights to a folder; the file appears only when it is complete."""
    # Cloned: two names may share one tensor, which the format does not allow.
    whole = {name: values.detach().cpu().clone().contiguous() for name, values in weights.items()}
    with replacing(Path(folder) / WEIGHTS_FILE) as unfinished:
        unfinished.write_bytes(save(whole))


def read_weights(folder: str | PathLike[str]) -> dict[str, Tensor]:
    """The weights in a folder."""
    path = Path(folder) / WEIGHTS_FILE
    try:
        return dict(load(path.read_bytes()))
    except FileNotFoundError:
        raise ModelError(f"{folder} has no weights: there is no {WEIGHTS_FILE}", remedy=AGAIN) from None
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} is damaged: {error}", remedy=AGAIN) from error


def check_same_shapes(folder: str | PathLike[str], found: Weights, wanted: Weights) -> None:
    """Refuse weights of a folder that are not exactly those of a network: missing ones, extra ones, other shapes."""
    path = Path(folder) / WEIGHTS_FILE
    if missing := sorted(wanted.keys() - found.keys()):
        raise ModelError(f"{path} lacks {len(missing)} weights, such as {missing[0]!r}", remedy=AGAIN)
    if extra := sorted(found.keys() - wanted.keys()):
        problem = f"{path} has {len(extra)} weights that its options do not ask for, such as {extra[0]!r}"
        raise ModelError(problem, remedy=AGAIN)
    for name, values in wanted.items():
        if found[name].shape != values.shape:
            problem = f"{path}: {name!r} is {_size(found[name])}, and its options ask for {_size(values)}"
            raise ModelError(problem, remedy=AGAIN)


def check_replacements(model: nn.Module, weights: Weights) -> None:
    """Refuse weights that cannot take the place of a model's own: unknown names, other shapes."""
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name, values in weights.items():
        if name not in own:
            near = difflib.get_close_matches(name, list(own), n=1)  # of hundreds
            remedy = f"Did you mean {near[0]!r}?" if near else "They are called as in `model.named_parameters()`."
            raise UsageError(f"the model has no weight {name!r}", remedy=remedy)
        if values.shape != own[name].shape:
            raise UsageError(f"the model's weight {name!r} is {_size(own[name])}, and not {_size(values)}")


class _Holder(nn.Module):
    """Lets `functional_call`, which calls a module, call any function instead."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, compute: Callable[[], T]) -> T:
        return compute()


def with_other_weights(model: nn.Module, weights: Weights, compute: Callable[[], T]) -> T:
    """What `compute` gives while a model has other weights; gradients flow into these, again and again."""
    found: T = functional_call(_Holder(model), {f"model.{name}": each for name, each in weights.items()}, (compute,))
    return found


def _size(values: Tensor) -> str:
    return " x ".join(map(str, values.shape)) or "a single number"


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
    learned_by: ClassVar[str] = ""
    """The command that makes it learn; a class with one is of no use by its name alone, without a model or folder."""
    adjustable: ClassVar[tuple[str, ...]] = ()
    """The options that do not say how its network is built: they can be given to one that has learned already."""

    @property
    def is_new(self) -> bool:
        """Whether nobody has looked at its weights yet: it is a name with options, and has learned nothing."""
        return self.made_for is None and "network" not in vars(self)

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


def check_made_for(thing: object, name: str, fingerprint: str, more: str = "") -> None:
    """Refuse a component that was trained with another model than the one of this fingerprint; `more` is a remedy."""
    made_for = getattr(thing, MADE_FOR, None)
    if made_for not in (None, fingerprint):
        raise UnsupportedError(
            f"{name} was trained with the model {made_for}, and this is the model {fingerprint}",
            remedy=f"Use it with the model that it was saved with, or train it for this one.{more}",
        )
