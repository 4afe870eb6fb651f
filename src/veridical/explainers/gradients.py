"""Gradients by the input embeddings, and the two explainers that read them as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.explainers.base import OUTPUT, PIECES, Explainer, Scores
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Classifier, Rows

Aggregate = Literal["sum", "mean", "l2", "abs_sum"]
"""Sum, mean or length of a word's vector, or the absolute value of its sum."""

Where = Literal["word", "output"]
"""Word vectors, or the embedding output: what enters the first layer, with positions added, normalised."""

WHERE = "Read word vectors, or the embedding output: what enters the first layer, with positions and normalised."
AGGREGATE = "How the vector of a word becomes one number: sum and mean have a sign, only sums can add up."


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


def output_gradient(classifier: Classifier, rows: Rows, logit_gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The embedding output at each position and the derivative of the explained value by it, both [R, L, d]."""
    # A model makes its embedding output itself, so the leaf is a shift of 0 that is added to it.
    shift = classifier.no_shift(rows).requires_grad_()  # [R, L, d]
    output = classifier.run(rows, shift=shift, hidden=True)
    assert output.hidden is not None
    (gradient,) = torch.autograd.grad((output.logits * logit_gradient).sum(), shift)
    return output.hidden[0].detach()[:, : shift.shape[1]], gradient  # models may add positions at the end


def gradient_at(where: Where, classifier: Classifier, rows: Rows, logit_gradient: Tensor) -> tuple[Tensor, Tensor]:
    """What is read of the words, and the derivative of the explained value by it, both [R, L, d]."""
    found = output_gradient if where == "output" else input_gradient
    return found(classifier, rows, logit_gradient)


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
    where: Where = option("word", WHERE)
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
        "smat": {"aggregate": "l2", "where": "output"},
        "saliency": {"aggregate": "mean"},
        "captum": {"aggregate": "mean", "absolute": True},
    }

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def reaction(rows: Rows, logit_gradient: Tensor) -> Tensor:
            _, gradient = gradient_at(self.where, case.classifier, rows, logit_gradient)  # [r, l, d]
            return aggregate(gradient.abs() if self.absolute else gradient, self.aggregate)

        return Scores(case.to_units(case.rowwise(reaction, self.output), self.pieces))


@dataclass(frozen=True)
class InputXGradient(Explainer):
    """Each word's vector times the gradient by it. Exact for linear models, cheap, signed; blind to saturation.

    The vector is what enters the first layer. With `where=word` it is the word's own, as most papers have it: the layer
    that normalises after it makes its length nearly meaningless, and on real models scores are hardly better than
    chance.
    """

    aggregate: Aggregate = option("sum", AGGREGATE)
    where: Where = option("output", WHERE)
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS})
    cost: ClassVar[str] = "1 forward, 1 backward"
    meaning: ClassVar[str] = (
        "What the word would contribute if the model were linear between zero vectors and the text. Signed."
    )
    weakness: ClassVar[str] = (
        "Wrong where the model bends on that way, and near 0 for every word where the output is saturated. Other "
        "methods of the same price find far more of the words that matter: see the measured table in the guide."
    )
    presets: ClassVar[Presets] = {
        "saloss": {"aggregate": "abs_sum", "where": "word", "output": "prob"},
        "regex": {"aggregate": "l2", "where": "word"},
        "smat": {"aggregate": "sum", "where": "output"},
    }

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def product(rows: Rows, logit_gradient: Tensor) -> Tensor:
            # To first order, what the value loses when the vectors go to zero, number by number: [r, l, d].
            vectors, gradient = gradient_at(self.where, case.classifier, rows, logit_gradient)
            return aggregate(vectors * gradient, self.aggregate)

        return Scores(case.to_units(case.rowwise(product, self.output), self.pieces))
