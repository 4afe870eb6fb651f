"""How far the probability falls as words are taken away, raw, and relative to what any order could do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def attainable_bounds(game: Game, parts: Tensor, exact: int, beam: int, tried: int) -> Bounds:
    """The bounds of documents with so many `parts` [B]: exact up to `exact` parts, else what a beam search finds."""
    best, worst = torch.zeros(2, len(parts), dtype=torch.double)
    few = torch.nonzero((parts > 0) & (parts <= exact))[:, 0]
    many = torch.nonzero(parts > exact)[:, 0]
    if len(few):
        best[few], worst[few] = over_subsets(game, few, parts[few])
    if len(many):
        best[many], worst[many] = by_beam(game, many, parts[many], beam, tried)
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


def by_beam(game: Game, document: Tensor, parts: Tensor, beam: int, tried: int) -> tuple[Tensor, Tensor]:
    """High and low sums of falls, [D] each, that a beam search finds; all documents and both ends share calls."""
    # The lowest sum is the highest sum of negated falls, so every document is searched twice, with both signs.
    sign = torch.tensor([1.0, -1.0], dtype=torch.double).repeat_interleave(len(document))
    twice, parts = document.repeat(2), parts.repeat(2)
    found = _search(lambda which, gone: sign[which] * game(twice[which], gone).double(), parts, beam, tried) * sign
    return found[: len(document)], found[len(document) :]


@dataclass(frozen=True)
class _Beam:
    """The best ways of each search so far: what is gone [S, W, P], the sum of falls and the last of them [S, W].

    -inf in `total` marks places that no way has taken. `worth` [S, P] is how much each part added when it was tried
    last.
    """

    gone: Tensor
    total: Tensor
    last: Tensor
    worth: Tensor


def _search(gain: Game, parts: Tensor, beam: int, tried: int) -> Tensor:
    """The highest sums of gains [S] that searches with so many parts [S] find."""
    real = torch.arange(int(parts.max())) < parts[:, None]  # [S, P]
    nothing = torch.zeros(len(parts), 1, dtype=torch.double)
    ways = _Beam(torch.zeros_like(real)[:, None], nothing, nothing, torch.zeros(real.shape, dtype=torch.double))
    found = torch.zeros(len(parts), dtype=torch.double)
    for step in range(1, real.shape[1] + 1):
        # Each part is tried alone first. Later only those are tried that did most: what a part adds changes with what
        # is gone already, but seldom so much that the last become the first.
        hopeful = _most_worth(ways, real, tried if step > 1 else real.shape[1])
        ways = _step(gain, ways, hopeful, beam)
        found = torch.where(parts == step, ways.total.amax(1), found)  # a shorter document is finished earlier
    return found


def _most_worth(ways: _Beam, real: Tensor, count: int) -> Tensor:
    """The parts that each way tries next, [S, W, P]: of those that are not gone, so many that are worth most."""
    free = ways.total.isfinite()[:, :, None] & real[:, None] & ~ways.gone
    worth = ways.worth[:, None].masked_fill(~free, -torch.inf)
    first = worth.argsort(dim=2, descending=True, stable=True)[:, :, :count]
    return torch.zeros_like(free).scatter(2, first, True) & free


def _step(gain: Game, ways: _Beam, hopeful: Tensor, beam: int) -> _Beam:
    """Take one more of the hopeful parts away in every way, and keep the best `beam` ways of each search."""
    search, way, part = torch.nonzero(hopeful, as_tuple=True)
    sets = ways.gone[search, way]
    sets[torch.arange(len(part)), part] = True
    # Orders that arrive at the same set have the same future, so only the best of them goes on. This also saves
    # questions: each set is asked about once.
    states, which = torch.unique(torch.cat([search[:, None], sets.long()], 1), dim=0, return_inverse=True)
    search_of, sets = states[:, 0], states[:, 1:] == 1
    gained = gain(search_of, sets)
    before = torch.full((len(states),), -torch.inf, dtype=torch.double)
    before = before.scatter_reduce(0, which, ways.total[search, way], "amax")
    # Of several ways that tried a part, the first one, which has come furthest, tells what the part is worth.
    worth = ways.worth.clone()
    for at in range(ways.total.shape[1] - 1, -1, -1):
        mine = way == at
        worth[search[mine], part[mine]] = gained[which[mine]] - ways.last[search[mine], at]
    return _best(search_of, sets, before + gained, gained, worth, beam)


def _best(search: Tensor, sets: Tensor, reached: Tensor, gained: Tensor, worth: Tensor, beam: int) -> _Beam:
    """The best states [N] of each search, as ways; -inf where there are fewer than `beam`."""
    counts = torch.bincount(search, minlength=len(worth))
    # `torch.unique` has sorted the states by search: the place of a state is its distance from the first of its search.
    place = torch.arange(len(search)) - (counts.cumsum(0) - counts)[search]
    table = torch.full((len(worth), max(beam, int(counts.max()))), -torch.inf, dtype=torch.double)
    table[search, place] = reached
    index = torch.zeros(table.shape, dtype=torch.long)
    index[search, place] = torch.arange(len(search))
    # Stable, so that of equal states the first is kept on every machine.
    order = table.argsort(dim=1, descending=True, stable=True)[:, :beam]
    chosen = index.gather(1, order)
    return _Beam(sets[chosen], table.gather(1, order), gained[chosen], worth)


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
    search finds them, all orders that are judged count as orders found, so that all methods of an audit have the same
    ends. Undefined where no order matters.
    """

    eraser: EraserName = option("delete", "How words are erased; values by different erasers cannot be compared.")
    exact: Annotated[int, Within(0, 12)] = option(
        6, "Up to how many steps the two ends are exact, from 2^n questions; beyond, a beam search looks for them."
    )
    beam: Annotated[int, Within(1, 50)] = option(
        1, "How many orders the search follows at once; more come closer to the true ends and cost more questions."
    )
    tried: Annotated[int, Within(1, 200)] = option(
        8,
        "How many words each order tries next, those that did most when they were tried last; of 20 words, 8 find 98% "
        "of the range that five times as many questions find.",
    )
    most: Annotated[int, Within(1, 200)] = option(
        20,
        "The most steps in which a text is erased; longer texts lose several neighbouring words in each step, which "
        "bounds the questions at about `2 beam tried` times the steps.",
    )
    meaning: ClassVar[str] = "How close the order comes to the best there is for this text and model; 0 is the worst."
    weakness: ClassVar[str] = (
        "Many questions. For long texts the ends are found by a search that may miss the true ones, and words are "
        "erased in groups. Texts where no order matters are left out."
    )
    comparable: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        return min(units, self.most)

    def questions_once(self, units: int) -> int:
        steps = min(units, self.most)
        if steps <= self.exact:
            return 1 << steps
        # For both ends: each word alone, then in each order that is followed the words that are tried or left.
        return 2 * (steps + self.beam * sum(min(self.tried, left) for left in range(1, steps)))

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        steps = case.live.sum(1).clamp(max=self.most)  # [B]
        part = _parts(case.live, steps)
        game = _game(case.with_eraser(self.eraser), part)
        # The key is the metric itself, which names the eraser: methods of an audit share the costly search.
        bounds = case.once(self, lambda: attainable_bounds(game, steps, self.exact, self.beam, self.tried))
        found = _mean_fall(game, _order(scores, case.live, part, steps), steps)
        # A search may miss the true ends; an order that lies beyond them is then the best or worst one known.
        return _between(found, torch.maximum(bounds.best, found), torch.minimum(bounds.worst, found))

    def mean(self, draws: Sequence[Measured]) -> Measured:
        falls = torch.stack([each.details["aopc"] for each in draws]).mean(0)
        return _between(falls, *_ends(draws))

    def together(self, found: Sequence[Measured]) -> Sequence[Measured]:
        return [_between(each.details["aopc"], *_ends(found)) for each in found]


def _ends(found: Sequence[Measured]) -> tuple[Tensor, Tensor]:
    """The best and the worst mean fall of all orders that were judged, [B] each; NaN where none was."""
    best, worst = (torch.stack([each.details[end] for each in found]) for end in ("best", "worst"))
    none = best.isnan().all(0)
    ends = best.nan_to_num(nan=-torch.inf).amax(0), worst.nan_to_num(nan=torch.inf).amin(0)
    return ends[0].masked_fill(none, torch.nan), ends[1].masked_fill(none, torch.nan)


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


def _between(found: Tensor, best: Tensor, worst: Tensor) -> Measured:
    """Where mean falls [B] lie between the ends; undefined where there is nothing between them."""
    room = best - worst
    values = ((found - worst) / room).masked_fill(room <= _NOISE, torch.nan)
    return Measured(values, details={"aopc": found, "best": best, "worst": worst})
