"""Normalised AOPC: how close does an order of words come to the best order for this text and model?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from veridical.core.component import Within, option
from veridical.masking import Case, EraserName
from veridical.masking.ranking import places
from veridical.metrics.base import Measured, Metric
from veridical.metrics.bounds import Bounds, Game, attainable_bounds
from veridical.metrics.erasure import whole

_NOISE = 1e-6  # the rounding of a model's probabilities: a smaller range is no range


@dataclass(frozen=True)
class NormalisedAOPC(Metric):
    """The mean fall of the probability while the words go one after another, between the worst and the best order.

    0 is the worst order there is for this text and model, 1 the best, so values of different models can be compared
    (after Edin et al. 2025). The two ends depend on text and model only, and are found once for all methods. Where a
    search finds them, the judged order counts as one of the orders found. Undefined where no order matters.
    """

    eraser: EraserName = option("delete", "How words are erased; values by different erasers cannot be compared.")
    exact: Annotated[int, Within(0, 12)] = option(
        8, "Up to how many steps the two ends are exact, from 2^n questions; beyond, a beam search looks for them."
    )
    beam: Annotated[int, Within(1, 50)] = option(
        5, "How many orders the search follows at once; more come closer to the true ends and cost more questions."
    )
    most: Annotated[int, Within(1, 200)] = option(
        20,
        "The most steps in which a text is erased; longer texts lose several neighbouring words in each step, which "
        "bounds the questions at about `beam` times the square of the steps.",
    )
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
        # The key is the metric itself, which names the eraser: methods of an audit share the costly search.
        bounds = case.once(self, lambda: attainable_bounds(game, steps, self.exact, self.beam))
        found = _mean_fall(game, _order(scores, case.live, part, steps), steps)
        return _between(found, bounds)


def _parts(live: Tensor, steps: Tensor) -> Tensor:
    """The part that each unit belongs to, [B, U]: neighbouring units, in parts whose sizes differ by one at most."""
    part = torch.arange(live.shape[1]) * steps[:, None] // live.sum(1, keepdim=True).clamp(min=1)
    return part.masked_fill(~live, 0)


def _game(case: Case, part: Tensor) -> Game:
    """How far the probability falls when parts of documents are gone."""

    def fall(document: Tensor, gone: Tensor) -> Tensor:
        keep = case.live[document] & ~gone.gather(1, part[document])  # [N, U]: a unit goes when its part goes
        return whole(case)[document].double() - case.ask(document, keep)

    return fall


def _order(scores: Tensor, live: Tensor, part: Tensor, steps: Tensor) -> Tensor:
    """The place of each part in the order of erasing, [B, P]: the part with place 0 goes first."""
    width = int(steps.max()) if len(steps) else 0
    sums = torch.zeros(len(live), max(1, width), dtype=torch.double)
    # A part counts as much as its words together. Parts that a document does not have get no place.
    sums = sums.scatter_add(1, part, scores.double().masked_fill(~live, 0))
    return places(sums, torch.arange(sums.shape[1]) < steps[:, None])


def _mean_fall(game: Game, order: Tensor, steps: Tensor) -> Tensor:
    """The mean fall of each document's own order, [B]."""
    done = torch.arange(1, order.shape[1] + 1)
    document, step = torch.nonzero(done <= steps[:, None], as_tuple=True)  # one question per document and step
    falls = game(document, order[document] < done[step][:, None])
    total = torch.zeros(len(steps), dtype=torch.double).index_add(0, document, falls)
    return total / steps.clamp(min=1)


def _between(found: Tensor, bounds: Bounds) -> Measured:
    # A search may miss the true ends; an order that lies beyond them is then the best or worst one known.
    best, worst = torch.maximum(bounds.best, found), torch.minimum(bounds.worst, found)
    room = best - worst
    values = ((found - worst) / room).masked_fill(room <= _NOISE, torch.nan)
    return Measured(values, details={"aopc": found, "best": best, "worst": worst})
