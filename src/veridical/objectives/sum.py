"""Several objectives at once, and how a sum of them is read and written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from veridical.core.errors import UsageError
from veridical.core.example import Example
from veridical.core.registry import Registry
from veridical.core.syntax import parse
from veridical.explainers import Explainer
from veridical.masking import Case
from veridical.models import Ability, Classifier
from veridical.objectives.base import Objective, base_of, explainers_of, figures_of, prepare

_SUM = "sum"

T = TypeVar("T")


@dataclass(frozen=True)
class Sum(Objective):
    """All terms of some objectives. A term that several of them have, as the plain loss, counts once."""

    parts: tuple[Objective, ...]

    @property
    def needs(self) -> frozenset[Ability]:
        return frozenset().union(*(part.needs for part in self.parts))

    @property
    def base(self) -> float:
        return base_of(self.parts[0])

    @property
    def explainers(self) -> Mapping[str, Explainer]:
        return _joined("explainer", [explainers_of(part) for part in self.parts])

    def prepared(self, classifier: Classifier, examples: Sequence[Example]) -> Sum:
        return Sum(tuple(prepare(part, classifier, examples) for part in self.parts))

    def evaluate(self, classifier: Classifier, examples: Sequence[Example]) -> dict[str, float]:
        return _joined("figure", [figures_of(part, classifier, examples) for part in self.parts])

    def __call__(self, case: Case) -> dict[str, Tensor]:
        terms: dict[str, Tensor] = {}
        for part in self.parts:
            for name, value in part(case).items():
                # Equal but for rounding: each part has computed a shared term by itself.
                if not torch.allclose(terms.setdefault(name, value), value, equal_nan=True):
                    raise UsageError(
                        f"two objectives disagree about the term {name!r}: {terms[name].item():.4g}, and "
                        f"{value.item():.4g} in {type(part).__name__}",
                        remedy="A term of a sum counts once, so its options have to be the same everywhere.",
                    )
        return terms


def parts_of(objective: Objective) -> tuple[Objective, ...]:
    """The summands of a sum, or the objective itself."""
    return objective.parts if isinstance(objective, Sum) else (objective,)


def _joined(kind: str, parts: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """All that some objectives have; a name that two of them use is refused."""
    names = [name for part in parts for name in part]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two objectives of a sum leave the {kind} {twice[0]!r}", remedy="Train them one by one.")
    return {name: value for part in parts for name, value in part.items()}


class Objectives(Registry[Objective]):
    """The table of objectives, which also reads and writes sums: `saloss(lam=0.01) + regex`."""

    def create(self, what: str | os.PathLike[str] | Objective) -> Objective:
        if not isinstance(what, str):
            return super().create(what)
        return self._added([self.build(term.name, term.options) for term in parse(what)])

    def spec(self, thing: Objective) -> dict[str, Any]:
        if not isinstance(thing, Sum):
            return super().spec(thing)
        return {"name": _SUM, "parts": [self.spec(part) for part in thing.parts]}

    def from_spec(self, spec: Mapping[str, Any]) -> Objective:
        if spec["name"] != _SUM:
            return super().from_spec(spec)
        return self._added([self.from_spec(part) for part in spec["parts"]])

    def written(self, thing: Objective) -> str:
        return " + ".join(super(Objectives, self).written(part) for part in parts_of(thing))

    def _added(self, parts: Sequence[Objective]) -> Objective:
        """A sum whose parts agree; what cannot be summed is refused before anything is trained."""
        names = [self.name_of(part) for part in parts]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(f"{twice[0]} is added to itself", remedy="Give it once, with its weight as an option.")
        for part, name in zip(parts, names, strict=True):
            if base_of(part) != base_of(parts[0]):
                raise UsageError(
                    f"{names[0]} weighs the plain loss by {base_of(parts[0]):g}, {name} by {base_of(part):g}",
                    remedy="It counts once in a sum, so they have to agree.",
                )
        return Sum(tuple(parts)) if len(parts) > 1 else parts[0]
