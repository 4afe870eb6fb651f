"""How far the probability falls as words are taken away, raw, and relative to what any order could do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets, Within, option
from veridical.masking import Case, EraserName
from veridical.masking.erasure import places, top
from veridical.metrics.base import Measured, Metric
from veridical.metrics.erasure import whole

Game = Callable[[Tensor, Tensor], Tensor]
"""How far the value falls, [N], in documents [N] of which the parts [N, P] are gone."""


@dataclass(frozen=True)
class Bounds:
    """The highest and the lowest mean fall that any order of erasing reaches, [B] each."""

    best: Tensor
    worst: Tensor


def attainable_bounds(game: Game, parts: Tensor, exact: int, beam: int) -> Bounds:
    """The bounds of documents with so many `parts` [B]: exact up to `exact` parts, else what a beam search finds."""
    best, worst = torch.zeros(2, len(parts), dtype=torch.double)
    few = torch.nonzero((parts > 0) & (parts <= exact))[:, 0]
    many = torch.nonzero(parts > exact)[:, 0]
    if len(few):
        best[few], worst[few] = over_subsets(game, few, parts[few])
    if len(many):
        best[many], worst[many] = by_beam(game, many, parts[many], beam)
    return Bounds(best / parts.clamp(min=1), worst / parts.clamp(min=1))


def over_subsets(game: Game, document: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """The highest and lowest sums of falls over all orders, [D] each.

    An order is a way from nothing gone to everything gone, one part after another. How well the rest of the way can go
    depends on which parts are gone, and not on the order in which they went. So dynamic programming over the 2^P sets
    gives the best and the worst of all P! orders.
    """
    width = int(parts.max())
    code = torch.arange(2**width)
    gone = (code[:, None] >> torch.arange(width)) & 1 == 1  # [2^P, P]: the bits of the code
    falls = _ask_subsets(game, document, parts, gone)
    best, worst = falls.clone(), falls.clone()  # [D, 2^P]: of the ways that end in each set
    for size in range(1, width + 1):
        of = code[gone.sum(1) == size]  # [M]: the sets of this size, whose predecessors are done already
        last = torch.nonzero(gone[of])[:, 1].view(-1, size)  # [M, size]: each member may have gone last
        before = of[:, None] - 2**last  # [M, size]: the set without that member is the code without its bit
        best[:, of] += best[:, before].amax(2)
        worst[:, of] += worst[:, before].amin(2)
    everything = (2**parts - 1)[:, None]  # a document with fewer parts ends at its own full set
    return best.gather(1, everything)[:, 0], worst.gather(1, everything)[:, 0]


def _ask_subsets(game: Game, document: Tensor, parts: Tensor, gone: Tensor) -> Tensor:
    """The fall for each subset of each document's parts, [D, 2^P]."""
    code = torch.arange(len(gone))
    # Codes below 2^parts have only bits of parts that the document has; code 0 needs no question, nothing is gone.
    which, subset = torch.nonzero((code > 0) & (code < 2 ** parts[:, None]), as_tuple=True)
    falls = torch.zeros(len(document), len(gone), dtype=torch.double)
    falls[which, subset] = game(document[which], gone[subset]).double()
    return falls


def by_beam(game: Game, document: Tensor, parts: Tensor, beam: int) -> tuple[Tensor, Tensor]:
    """High and low sums of falls, [D] each, that a beam search finds; all documents and both ends share calls."""
    # The lowest sum is the highest sum of negated falls, so every document is searched twice, with both signs.
    sign = torch.tensor([1.0, -1.0], dtype=torch.double).repeat_interleave(len(document))
    twice, parts = document.repeat(2), parts.repeat(2)
    found = _search(lambda which, gone: sign[which] * game(twice[which], gone).double(), parts, beam) * sign
    return found[: len(document)], found[len(document) :]


def _search(gain: Game, parts: Tensor, beam: int) -> Tensor:
    """The highest sums of gains [S] that searches with so many parts [S] find."""
    real = torch.arange(int(parts.max())) < parts[:, None]  # [S, P]
    gone = torch.zeros_like(real)[:, None]  # [S, W, P]: the states of each beam
    total = torch.zeros(len(parts), 1, dtype=torch.double)  # [S, W]
    found = torch.zeros(len(parts), dtype=torch.double)
    for step in range(1, real.shape[1] + 1):
        gone, total = _step(gain, gone, total, real, beam)
        found = torch.where(parts == step, total.amax(1), found)  # a shorter document is finished earlier
    return found


def _step(gain: Game, gone: Tensor, total: Tensor, real: Tensor, beam: int) -> tuple[Tensor, Tensor]:
    """Take one more part away in every way, and keep the best `beam` states of each search."""
    alive = total.isfinite()[:, :, None]  # -inf marks places of the beam that no state has taken
    search, state, part = torch.nonzero(alive & real[:, None] & ~gone, as_tuple=True)
    sets = gone[search, state]
    sets[torch.arange(len(part)), part] = True
    # Orders that arrive at the same set have the same future, so only the best of them goes on. This also saves
    # questions: each set is asked about once.
    states, which = torch.unique(torch.cat([search[:, None], sets.long()], 1), dim=0, return_inverse=True)
    search_of, sets = states[:, 0], states[:, 1:] == 1
    reached = torch.full((len(states),), -torch.inf, dtype=torch.double)
    reached = reached.scatter_reduce(0, which, total[search, state], "amax") + gain(search_of, sets)
    return _best(search_of, sets, reached, len(real), beam)


def _best(search: Tensor, sets: Tensor, reached: Tensor, searches: int, beam: int) -> tuple[Tensor, Tensor]:
    """The best states of each search: [S, W, P], and what they reached [S, W], -inf where there are fewer."""
    counts = torch.bincount(search, minlength=searches)
    # `torch.unique` has sorted the states by search: the place of a state is its distance from the first of its search.
    place = torch.arange(len(search)) - (counts.cumsum(0) - counts)[search]
    table = torch.full((searches, max(beam, int(counts.max()))), -torch.inf, dtype=torch.double)
    table[search, place] = reached
    index = torch.zeros(table.shape, dtype=torch.long)
    index[search, place] = torch.arange(len(search))
    # Stable, so that of equal states the first is kept on every machine.
    order = table.argsort(dim=1, descending=True, stable=True)[:, :beam]
    return sets[index.gather(1, order)], table.gather(1, order)


@dataclass(frozen=True)
class AOPC(Metric):
    """The target's probability for the whole text minus that without the first words (Samek et al. 2017).

    Choose it to reproduce works that erase a fixed number of words, and for models that give a number, which takes the
    place of the probability. `comprehensiveness` erases shares of a text, and `normalised-aopc` can be compared between
    models.
    """

    words: Annotated[int, Within(1, 1000)] = option(
        10, "How many of the first words are erased; a text with no more words than these is emptied."
    )
    eraser: EraserName = option("delete", "How words are erased; values by different erasers cannot be compared.")
    cumulative: bool = option(
        False, "Take the mean over 0, 1, 2, ... erased words, which is the area over the perturbation curve."
    )
    meaning: ClassVar[str] = "How far the probability, or a model's number, falls when the first words are erased."
    weakness: ClassVar[str] = (
        "Models that are sure of everything fall further, whatever the explanation: compare methods by it, not models. "
        "A fixed number of words is all of a short text and little of a long one."
    )
    percent: ClassVar[bool] = True
    of_output: ClassVar[bool] = True
    presets: ClassVar[Presets] = {"scc": {}, "scc-5": {"words": 5}}

    def questions(self, units: int) -> int:
        return self.words if self.cumulative else 1

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        steps = range(1, self.words + 1) if self.cumulative else [self.words]
        counts = torch.tensor(steps).expand(len(case), -1)  # [B, K]
        kept = case.live[:, None] & ~top(places(scores, case.live), counts)  # [B, K, U]
        fall = whole(case)[:, None] - case.with_eraser(self.eraser).value(kept)
        if not self.cumulative:
            return Measured(fall[:, 0])
        # The curve begins with nothing erased. That point has a fall of 0, so it adds only to the divisor.
        return Measured(fall.sum(1) / (self.words + 1), fall, tuple(float(step) for step in steps))


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
