"""Input times gradient: a first-order guess of what a word contributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from veridical.explainers.gradients import Aggregate, aggregate, input_gradient
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Rows


@dataclass(frozen=True)
class InputXGradient:
    """Each word's embedding times the gradient by it. Exact for linear models, cheap, signed; blind to saturation."""

    aggregate: Aggregate = "sum"
    output: Scale = "logit"
    pieces: Pieces = "sum"
    needs: ClassVar[frozenset[str]] = frozenset({"gradients"})
    cost: ClassVar[str] = "1 forward, 1 backward"
    presets: ClassVar[dict[str, dict[str, object]]] = {
        "saloss": {"aggregate": "abs_sum", "output": "prob"},
        "regex": {"aggregate": "l2"},
        "smat": {"aggregate": "sum"},
    }

    def scores(self, case: Case) -> Tensor:
        def product(rows: Rows, pull: Tensor) -> Tensor:
            embeds, gradient = input_gradient(case.classifier, rows, pull)
            return aggregate(embeds * gradient, self.aggregate)

        return case.to_units(case.rowwise(product, self.output), self.pieces)
