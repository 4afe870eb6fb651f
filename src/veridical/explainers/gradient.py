"""How strongly the output reacts to a word: the plain gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from veridical.core.component import Presets, option
from veridical.explainers.base import OUTPUT, PIECES, Explainer, Scores
from veridical.explainers.embedding_gradients import Aggregate, aggregate, input_gradient
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Rows


@dataclass(frozen=True)
class Gradient(Explainer):
    """The length of the gradient by each word's embedding: sensitivity, without direction.

    The preset `saliency` takes the signed mean over dimensions instead (REGEX's ablation), `captum` the mean of their
    absolute values, as Captum's Saliency does.
    """

    aggregate: Aggregate = option(
        "l2",
        "How the gradient by a word's vector becomes one number: its length (l2) has no sign, sum and mean have one.",
    )
    absolute: bool = option(False, "Take absolute values of the gradient before they are aggregated.")
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS})
    cost: ClassVar[str] = "1 forward, 1 backward"
    meaning: ClassVar[str] = (
        "How strongly the output reacts to a tiny change of the word's embedding: sensitivity. Never negative."
    )
    weakness: ClassVar[str] = (
        "Sensitivity is not contribution: where the model is sure (saturation), a decisive word has a small gradient. "
        "The sign that `aggregate=mean` gives has no simple meaning."
    )
    presets: ClassVar[Presets] = {
        "smat": {"aggregate": "l2"},
        "saliency": {"aggregate": "mean"},
        "captum": {"aggregate": "mean", "absolute": True},
    }

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def reaction(rows: Rows, logit_gradient: Tensor) -> Tensor:
            _, gradient = input_gradient(case.classifier, rows, logit_gradient)
            return aggregate(gradient.abs() if self.absolute else gradient, self.aggregate)

        return Scores(case.to_units(case.rowwise(reaction, self.output), self.pieces))
