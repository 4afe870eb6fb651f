"""Shapley values by random orders: words come in one by one, and then in the reverse order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from scipy import stats
from torch import Tensor

from veridical.core.component import Count, Seed, option
from veridical.explainers.base import ERASER, OUTPUT, SEED, Explainer, Scores, adding_up
from veridical.explainers.coalitions import ask_each
from veridical.masking import Case, EraserName
from veridical.masking.case import Scale


@dataclass(frozen=True)
class PermutationShap(Explainer):
    """Shapley values, estimated without bias from a few random orders in which words come in.

    One pair of orders takes two questions for each word, and its scores add up exactly. They are noisy, but right on
    average: many texts with a pair each teach a student more than a few texts with many pairs. For a single text
    kernel-shap is more precise at the same cost. Castro et al. 2009; pairs of reversed orders: Mitchell et al. 2022.
    """

    pairs: Count = option(10, "How many random orders are asked about, each with its reverse.")
    output: Scale = option("logit", OUTPUT)
    eraser: EraserName = option("mask", ERASER)
    seed: Seed = option(0, SEED)
    cost: ClassVar[str] = "at most 2 (n - 1) pairs + 1 forwards"
    meaning: ClassVar[str] = (
        "What the word adds to the output when it comes in, averaged over some random orders of the words. Signed."
    )
    total: ClassVar[str] = "the output minus that of the empty text"
    margins: ClassVar[str] = "how far other orders would move the mean; one pair of orders cannot tell"
    weakness: ClassVar[str] = (
        "Few orders give noisy scores. It asks about texts with most words erased, which are unlike any the model was "
        "trained on."
    )

    def passes(self, units: int) -> int:
        return 2 * max(0, units - 1) * self.pairs + 1

    def quick(self, units: int) -> PermutationShap:
        return replace(self, pairs=2)

    def scores(self, case: Case) -> Scores:
        orders = [self._orders(case, index) for index in range(len(case))]
        erased = case.with_eraser(self.eraser)
        whole = case.scaled(case.output.logits, case.targets, self.output).double()
        empty = erased.value(torch.zeros_like(case.live)[:, None], self.output)[:, 0].double()
        found = ask_each(erased, range(len(case)), [_coming_in(each) for each in orders], self.output)
        scores, margins = torch.zeros(case.live.shape), torch.zeros(case.live.shape)
        for index, (order, values) in enumerate(zip(orders, found, strict=True)):
            words = order.shape[1]
            added = _added(order, values.double(), whole[index], empty[index])  # [pairs, n]
            scores[index, :words] = added.mean(0).float()
            margins[index, :words] = _margins(added).float()
        return Scores(
            scores,
            margins if self.pairs > 1 else None,
            adding_up(scores.sum(1), (whole - empty).float()),
        )

    def _orders(self, case: Case, index: int) -> Tensor:
        """The orders in which the words of an example come in, each followed by its reverse, [2 pairs, n]."""
        words, generator = len(case.batch.units[index]), case.generator(index, self.seed)
        drawn = [torch.randperm(words, generator=generator) for _ in range(self.pairs)]
        return torch.stack([order for each in drawn for order in (each, each.flip(0))])


def _coming_in(orders: Tensor) -> Tensor:
    """What is kept at each step of each order but the first, nothing, and the last, everything: [m (n - 1), n]."""
    place = orders.argsort(1)  # [m, n]: when each word comes in
    steps = torch.arange(1, max(1, orders.shape[1]))
    return (place[:, None] < steps[:, None]).flatten(0, 1)


def _added(orders: Tensor, values: Tensor, whole: Tensor, empty: Tensor) -> Tensor:
    """What each word added when it came in, the mean over an order and its reverse: [pairs, n]."""
    count, words = orders.shape
    if not words:
        return torch.zeros(count // 2, 0, dtype=torch.float64)
    ends = [empty.expand(count, 1), values.view(count, words - 1), whole.expand(count, 1)]
    steps = torch.cat(ends, 1).diff(dim=1)  # [m, n], in the order of coming in
    added = torch.zeros_like(steps).scatter(1, orders, steps)
    return (added[0::2] + added[1::2]) / 2


def _margins(added: Tensor) -> Tensor:
    """Half the width of a 95% interval around the mean over pairs, [n]; 0 for a single pair, which tells nothing."""
    pairs, words = added.shape
    if pairs < 2 or not words:
        return torch.zeros(words)
    widths: Tensor = added.std(0) * (float(stats.t.ppf(0.975, pairs - 1)) / pairs**0.5)
    return widths
