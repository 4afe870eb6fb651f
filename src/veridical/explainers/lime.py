"""LIME: a linear model of what the classifier says of the text with random words missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.core.errors import InputError
from veridical.core.example import Unit
from veridical.explainers.base import Explainer, Scores
from veridical.explainers.coalitions import ask_each, subsets
from veridical.masking import Case
from veridical.masking.case import Scale


@dataclass(frozen=True)
class Lime(Explainer):
    """Weights of a linear model fitted to the output for texts with random words missing, near ones counting more.

    Nearness is the cosine between a text's words and the whole, at `width`; `ridge` shrinks the weights, more so when
    samples are few (0: not at all). With `bow` all places of a word are there or missing together. The margins say
    how far other samples would move the weights, not how far the model is from linear.
    """

    samples: int = 1000
    width: float = 25.0
    ridge: float = 1.0
    bow: bool = False
    output: Scale = "prob"
    eraser: str = "mask"
    seed: int = 0
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
        """The number of the feature that each unit belongs to, [n]."""
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
        missing = torch.randint(1, features + 1, (self.samples - 1,), generator=generator)
        whole = torch.ones(1, features, dtype=torch.bool)
        return torch.cat([whole, ~subsets(features, missing, generator)])


def nearness(kept: Tensor, width: float) -> Tensor:
    """LIME's kernel of the cosine distance, in percent, between what is kept [m, f] and the whole."""
    cosine = (kept.double().sum(1) / kept.shape[1]).sqrt()
    distance = 100 * (1 - cosine)
    return torch.exp(-(distance**2) / width**2).sqrt()


def weighted_ridge(kept: Tensor, values: Tensor, weights: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Weights of a ridge regression with a free intercept and their standard errors, robust to unequal noise: [f]."""
    inputs, outputs = kept.double(), values.double()
    centre, middle = (weights @ inputs) / weights.sum(), (weights @ outputs) / weights.sum()
    inputs, outputs = inputs - centre, outputs - middle
    normal = inputs.T @ (weights[:, None] * inputs) + ridge * torch.eye(inputs.shape[1], dtype=torch.float64)
    inverse = torch.linalg.pinv(normal, hermitian=True)
    found = inverse @ (inputs.T @ (weights * outputs))
    noise = outputs - inputs @ found
    spread = inverse @ (inputs * (weights * noise)[:, None]).T  # [f, m]
    freedom = max(1, len(kept) - kept.shape[1] - 1)
    return found, spread.pow(2).sum(1).mul(len(kept) / freedom).sqrt()
