"""An `Explanation`: one score per unit for one prediction, with everything needed to draw, judge and remake it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from veridical.core.errors import InputError
from veridical.core.example import Image, Label, Unit

HUMAN = "human"
"""The `source` of rationales and study answers: people explain, too."""


def gives_labels(model: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a model, as a spec describes it, gives any number of labels, and not one class or one number."""
    return isinstance(model, Mapping) and model.get("task") == "labels"


@dataclass(frozen=True)
class Explanation:
    """Why a classifier chose `target` for one example: a score for each unit, positive when it speaks for the target.

    `probabilities` is empty for regression. `source` names the method (or `human`), `spec` is how exactly the scores
    were made, `measures` holds numbers about the making: `queries` asked of the model, `truncated_units` it never saw.
    `margins`, where the scores were estimated from samples, are half the widths of 95% intervals around them.
    """

    example_id: str
    inputs: Mapping[str, str | Image]
    target: str
    units: tuple[Unit, ...]
    scores: tuple[float, ...]
    probabilities: Mapping[str, float]
    source: str
    spec: Mapping[str, Any]
    label: Label | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    margins: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        self._check("score", self.scores, least=-math.inf)
        if self.margins is not None:
            self._check("margin", self.margins, least=0.0)

    def _check(self, name: str, numbers: tuple[float, ...], least: float) -> None:
        if len(numbers) != len(self.units):
            raise InputError(f"{len(numbers)} {name}s for {len(self.units)} units", example=self.example_id)
        for unit, number in zip(self.units, numbers, strict=True):
            if not math.isfinite(number) or number < least:
                raise InputError(f"the {name} of {unit.text!r} is {number}", example=self.example_id, field=unit.field)

    def top(self, count: int) -> tuple[tuple[Unit, float], ...]:
        """The `count` units with the highest scores, best first; ties keep their order in the input."""
        ranked = sorted(zip(self.units, self.scores, strict=True), key=lambda pair: -pair[1])
        return tuple(ranked[:count])

    def _repr_html_(self) -> str:
        from veridical.report.drawing import fragment

        return fragment(self)
