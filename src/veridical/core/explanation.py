"""An `Explanation`: one score per unit for one prediction, with everything needed to draw, judge and remake it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veridical.core.errors import InputError
from veridical.core.example import Image, Unit

HUMAN = "human"
"""The `source` of rationales and study answers: people explain, too."""


@dataclass(frozen=True)
class Explanation:
    """Why a classifier chose `target` for one example: a score for each unit, positive when it speaks for the target.

    `probabilities` is empty for regression. `source` names the method (or `human`), `spec` is how exactly the scores
    were made, `measures` holds numbers about the making: `queries` asked of the model, `truncated_units` it never saw.
    """

    example_id: str
    inputs: Mapping[str, str | Image]
    target: str
    units: tuple[Unit, ...]
    scores: tuple[float, ...]
    probabilities: Mapping[str, float]
    source: str
    spec: Mapping[str, Any]
    label: str | float | None = None
    measures: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.units):
            problem = f"{len(self.scores)} scores for {len(self.units)} units"
            raise InputError(problem, example=self.example_id)
        for unit, score in zip(self.units, self.scores, strict=True):
            if not math.isfinite(score):
                raise InputError(f"the score of {unit.text!r} is {score}", example=self.example_id, field=unit.field)

    def top(self, count: int) -> tuple[tuple[Unit, float], ...]:
        """The `count` units with the highest scores, best first; ties keep their order in the input."""
        ranked = sorted(zip(self.units, self.scores, strict=True), key=lambda pair: -pair[1])
        return tuple(ranked[:count])

    def _repr_html_(self) -> str:
        from veridical.core.drawing import fragment

        return fragment(self)
