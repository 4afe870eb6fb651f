"""Input times gradient: a first-order guess of what a word contributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from veridical.core.component import Presets, option
from veridical.explainers.base import OUTPUT, PIECES, Explainer, Scores
from veridical.explainers.embedding_gradients import AGGREGATE, Aggregate, aggregate, input_gradient
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Rows


@dataclass(frozen=True)
class InputXGradient(Explainer):
    """Each word's embedding times the gradient by it. Exact for linear models, cheap, signed; blind to saturation."""

    aggregate: Aggregate = option("sum", AGGREGATE)
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS})
    cost: ClassVar[str] = "1 forward, 1 backward"
    meaning: ClassVar[str] = (
        "What the word would contribute if the model were linear between zero embeddings and the text. Signed."
    )
    weakness: ClassVar[str] = (
        "Wrong where the model bends on that way, and near 0 for every word where the output is saturated."
    )
    presets: ClassVar[Presets] = {
        "saloss": {"aggregate": "abs_sum", "output": "prob"},
        "regex": {"aggregate": "l2"},
        "smat": {"aggregate": "sum"},
    }

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def product(rows: Rows, logit_gradient: Tensor) -> Tensor:
            embeds, gradient = input_gradient(case.classifier, rows, logit_gradient)
            return aggregate(embeds * gradient, self.aggregate)

        return Scores(case.to_units(case.rowwise(product, self.output), self.pieces))
