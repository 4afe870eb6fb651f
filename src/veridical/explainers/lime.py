"""LIME: a linear model of what the classifier says of the text with random words missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Count, Positive, Presets, Seed, Weight, option
from veridical.core.errors import InputError
from veridical.core.values import Unit
from veridical.explainers.base import ERASER, OUTPUT, SEED, Explainer, Scores
from veridical.explainers.coalitions import ask_each, enough_samples, subsets
from veridical.masking import Case, EraserName
from veridical.masking.case import Scale


@dataclass(frozen=True)
class Lime(Explainer):
    """Weights of a linear model fitted to the output for texts with random words missing, near ones counting more.

    Works with any model. The margins say how far other samples would move the weights, not how far the model is from
    linear. Ribeiro et al. 2016.
    """

    samples: Count = option(1000, "How many texts with missing words are asked about; more than the text has words.")
    width: Positive = option(
        25.0, "How far from the whole text, in percent, texts still count; the larger, the more equally they do."
    )
    ridge: Weight = option(1.0, "How much the weights are shrunk, most where samples are few; 0 does not shrink them.")
    bow: bool = option(False, "Take away all places of a word together, so that they share one weight.")
    output: Scale = option("prob", OUTPUT)
    eraser: EraserName = option("mask", ERASER)
    seed: Seed = option(0, SEED)
    cost: ClassVar[str] = "samples forwards"
    meaning: ClassVar[str] = (
        "The word's weight in a linear model of the output for texts with random words missing. Signed."
    )
    margins: ClassVar[str] = "how far other samples would move the weights, not how far the model is from linear"
    weakness: ClassVar[str] = (
        "The weights depend on the kernel's width and on the ridge, which shrinks them where samples are few. A linear "
        "model cannot show words that act together."
    )
    presets: ClassVar[Presets] = {
        "l2e": {"samples": 1000},
        "l2e-imdb-r": {"samples": 500},
        "l2e-code": {"samples": 1000, "output": "logprob"},
        "scc": {"samples": 1000, "eraser": "delete"},
    }

    def passes(self, units: int) -> int:
        return self.samples

    def quick(self, units: int) -> Lime:
        return replace(self, samples=enough_samples(units))

    def scores(self, case: Case) -> Scores:
        groups = [self._groups(units) for units in case.batch.units]
        drawn = [self._draw(case, index, group) for index, group in enumerate(groups)]
        spread = [kept[:, group] for kept, group in zip(drawn, groups, strict=True)]
        found = ask_each(case.with_eraser(self.eraser), range(len(case)), spread, self.output)
        scores, margins = torch.zeros(case.live.shape), torch.zeros(case.live.shape)
        for index, (kept, group, values) in enumerate(zip(drawn, groups, found, strict=True)):
            if len(group):
                weights, errors = weighted_ridge(kept, values, nearness(kept, self.width), self.ridge)
                scores[index, : len(group)] = weights[group].float()
                margins[index, : len(group)] = 1.96 * errors[group].float()
        return Scores(scores, margins)

    def _groups(self, units: tuple[Unit, ...]) -> Tensor:
        """The number of the feature that each unit belongs to, [n]: its own, or with `bow` that of its word."""
        if not self.bow:
            return torch.arange(len(units))
        words = {key: number for number, key in enumerate(dict.fromkeys((unit.field, unit.text) for unit in units))}
        return torch.tensor([words[unit.field, unit.text] for unit in units], dtype=torch.long)

    def _draw(self, case: Case, index: int, group: Tensor) -> Tensor:
        """What is kept of the features in each sample, [m, f]; the first sample is the whole text."""
        if not len(group):
            return torch.zeros(0, 0, dtype=torch.bool)
        features = int(group.max()) + 1
        if self.samples < features + 2:
            raise InputError(
                f"{self.samples} samples are too few for a linear model of {features} words",
                example=case.batch.examples[index].id,
                remedy=f"Give at least lime(samples={features + 2}).",
            )
        generator = case.generator(index, self.seed)
        # At least one word is missing in each of them: the whole text is there already.
        missing = torch.randint(1, features + 1, (self.samples - 1,), generator=generator)
        whole = torch.ones(1, features, dtype=torch.bool)
        return torch.cat([whole, ~subsets(features, missing, generator)])


def nearness(kept: Tensor, width: float) -> Tensor:
    """LIME's kernel of the cosine distance, in percent, between what is kept [m, f] and the whole."""
    # Between zeros and ones with k of n ones and n ones, the cosine is k / sqrt(k n) = sqrt(k / n).
    cosine = (kept.double().sum(1) / kept.shape[1]).sqrt()
    distance = 100 * (1 - cosine)
    return torch.exp(-(distance**2) / width**2).sqrt()


def weighted_ridge(kept: Tensor, values: Tensor, weights: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Weights of a ridge regression with a free intercept, and their standard errors: [f] each.

    The errors hold where the noise differs from sample to sample, as it does for texts of different lengths.
    """
    inputs, outputs = kept.double(), values.double()
    centre, middle = (weights @ inputs) / weights.sum(), (weights @ outputs) / weights.sum()
    inputs, outputs = inputs - centre, outputs - middle  # which fits the intercept and leaves it unshrunk
    normal = inputs.T @ (weights[:, None] * inputs) + ridge * torch.eye(inputs.shape[1], dtype=torch.float64)
    # Without a ridge, words that are always there or missing together have no unique weights; pinv shares them equally.
    inverse = torch.linalg.pinv(normal, hermitian=True)
    found = inverse @ (inputs.T @ (weights * outputs))
    noise = outputs - inputs @ found
    # The sandwich estimate: how far each sample's own noise moved the weights, [f, m].
    spread = inverse @ (inputs * (weights * noise)[:, None]).T
    # Residuals of a fit are smaller than the noise, by the numbers that it was free to choose.
    freedom = max(1, len(kept) - kept.shape[1] - 1)
    return found, spread.pow(2).sum(1).mul(len(kept) / freedom).sqrt()
