"""Gradients by the input embeddings, and the two explainers that read them as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.core.errors import UnsupportedError
from veridical.explainers.base import OUTPUT, PIECES, Explainer, Scores
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Classifier, Rows

Aggregate = Literal["sum", "mean", "l2", "abs_sum"]
"""Sum, mean or length of a word's vector, or the absolute value of its sum."""

Baseline = Literal["all", "content"]
"""Which embeddings are zero in the input that an input is compared with: all, or all but those of special tokens."""


AGGREGATE = "How the vector of a word becomes one number: sum and mean have a sign, only sums can add up."
BASELINE = "Which embeddings are zero in the input to compare with: all, as in the papers, or those of words only."


def aggregate(vectors: Tensor, how: Aggregate) -> Tensor:
    """One number per position from a vector per position: [..., d] gives [...]."""
    if how == "l2":
        lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
        return lengths
    total = vectors.sum(-1) if how != "mean" else vectors.mean(-1)
    return total.abs() if how == "abs_sum" else total


def input_gradient(
    classifier: Classifier, rows: Rows, logit_gradient: Tensor, embeds: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The embeddings at each position and the derivative of the explained value by them, both [R, L, d].

    `logit_gradient` [R, C] is the derivative of that value by the logits. The embeddings of each position are a leaf of
    their own: repeated words do not share a gradient.
    """
    # The sum over rows has each row's own gradient, as no row depends on another's embeddings.
    leaf = (classifier.embed(rows) if embeds is None else embeds).detach().requires_grad_()
    output = classifier.run(rows, embeds=leaf)
    (gradient,) = torch.autograd.grad((output.logits * logit_gradient).sum(), leaf)
    return leaf.detach(), gradient


def start_of(rows: Rows, embeds: Tensor, baseline: Baseline) -> Tensor:
    """The embeddings to compare with, [R, L, d]."""
    if baseline == "all":
        return torch.zeros_like(embeds)
    # What belongs to no unit is a special token, or a field that is held.
    return embeds * (rows.unit_of < 0)[..., None].to(embeds)


def check_windows(case: Case, scale: Scale, method: str) -> None:
    """Refuse the probability of a text of several windows: only their logits are averaged, so it has no parts."""
    if scale != "logit" and len(case.batch.rows) > len(case):
        raise UnsupportedError(
            f"{method} of a {scale} is not defined window by window", remedy="Use output=logit, or long=truncate."
        )


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
