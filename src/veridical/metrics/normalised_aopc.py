"""Normalised AOPC: how close does an order come to the best that this model allows for this text?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.masking import Case
from veridical.masking.ranking import places
from veridical.metrics.attainable import Bounds, Game, attainable
from veridical.metrics.base import Measured, Metric
from veridical.metrics.erasure import whole

_NOISE = 1e-6  # a model that moves less does not move: this is the rounding of its probabilities


@dataclass(frozen=True)
class NormalisedAOPC(Metric):
    """The mean fall of the probability while the words go one after another, between the worst and the best order.

    0 is the worst order there is for this text and model, 1 the best, so values of different models can be compared.
    Both ends are exact for up to `exact` words, from 2^n questions; beyond, a beam search finds orders near them, and
    the judged order is itself one of those found. They depend on text and model only and are found once for all
    methods.

    Texts with more than `most` words go in `most` steps of neighbouring words, ranked by the sums of their scores: this
    bounds the questions, at about `beam` times the square of the steps. Undefined where no order matters.
    """

    eraser: str = "delete"
    exact: int = 8
    beam: int = 5
    most: int = 20
    meaning: ClassVar[str] = "How close the order comes to the best there is for this text and model; 0 is the worst."
    weakness: ClassVar[str] = (
        "Many questions. For long texts the ends are found by a search that may miss the true ones, and words are "
        "erased in groups. Texts where no order matters are left out."
    )
    comparable: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        steps = min(units, self.most)
        return steps + (2**steps if steps <= self.exact else self.beam * steps * (steps + 1))

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        steps = case.live.sum(1).clamp(max=self.most)  # [B]
        part = _parts(case.live, steps)
        game = _game(case.with_eraser(self.eraser), part)
        bounds = case.once(self, lambda: attainable(game, steps, self.exact, self.beam))
        found = _mean_fall(game, _order(scores, case.live, part, steps), steps)
        return _between(found, bounds)


def _parts(live: Tensor, steps: Tensor) -> Tensor:
    """The part that each unit belongs to, [B, U]: neighbours, as many in each part as in any other, or one more."""
    part = torch.arange(live.shape[1]) * steps[:, None] // live.sum(1, keepdim=True).clamp(min=1)
    return part.masked_fill(~live, 0)


def _game(case: Case, part: Tensor) -> Game:
    def fall(document: Tensor, gone: Tensor) -> Tensor:
        keep = case.live[document] & ~gone.gather(1, part[document])
        return whole(case)[document].double() - case.ask(document, keep)

    return fall


def _order(scores: Tensor, live: Tensor, part: Tensor, steps: Tensor) -> Tensor:
    """When each part goes, [B, P]: 0 first."""
    width = int(steps.max()) if len(steps) else 0
    sums = torch.zeros(len(live), max(1, width), dtype=torch.double)
    sums = sums.scatter_add(1, part, scores.double().masked_fill(~live, 0))
    return places(sums, torch.arange(sums.shape[1]) < steps[:, None])


def _mean_fall(game: Game, order: Tensor, steps: Tensor) -> Tensor:
    """The mean fall of each document's own order, [B]."""
    done = torch.arange(1, order.shape[1] + 1)
    document, step = torch.nonzero(done <= steps[:, None], as_tuple=True)
    falls = game(document, order[document] < done[step][:, None])
    total = torch.zeros(len(steps), dtype=torch.double).index_add(0, document, falls)
    return total / steps.clamp(min=1)


def _between(found: Tensor, bounds: Bounds) -> Measured:
    # A search may have missed the ends; then the order at hand is one.
    best, worst = torch.maximum(bounds.best, found), torch.minimum(bounds.worst, found)
    room = best - worst
    values = ((found - worst) / room).masked_fill(room <= _NOISE, torch.nan)
    return Measured(values, details={"aopc": found, "best": best, "worst": worst})
