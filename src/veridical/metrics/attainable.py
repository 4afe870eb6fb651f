"""What erasing could reach at all: the best and the worst order, exactly for few parts, by beam search for many.

Knows nothing of models: a game is a function that says how far the value falls when some parts are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Game = Callable[[Tensor, Tensor], Tensor]
"""How far the value falls, [N], in documents [N] of which the parts [N, P] are gone."""


@dataclass(frozen=True)
class Bounds:
    """The highest and the lowest mean fall that an order reaches, [B] each."""

    best: Tensor
    worst: Tensor


def attainable(game: Game, parts: Tensor, exact: int, beam: int) -> Bounds:
    """The bounds of documents with so many `parts` [B]: exact up to `exact` parts, else the best that a beam finds."""
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

    What an order can still reach depends on which parts are gone, not on their order, so 2^P questions answer for all
    P! orders, and for both ends.
    """
    width = int(parts.max())
    code = torch.arange(2**width)
    gone = (code[:, None] >> torch.arange(width)) & 1 == 1  # [2^P, P]: the bits of the code
    falls = _ask_subsets(game, document, parts, gone)
    best, worst = falls.clone(), falls.clone()
    for size in range(1, width + 1):
        of = code[gone.sum(1) == size]  # [M]
        last = torch.nonzero(gone[of])[:, 1].view(-1, size)  # [M, size]: which part went last
        before = of[:, None] - 2**last
        best[:, of] += best[:, before].amax(2)
        worst[:, of] += worst[:, before].amin(2)
    everything = (2**parts - 1)[:, None]
    return best.gather(1, everything)[:, 0], worst.gather(1, everything)[:, 0]


def _ask_subsets(game: Game, document: Tensor, parts: Tensor, gone: Tensor) -> Tensor:
    """The fall for each subset of each document's parts, [D, 2^P]."""
    code = torch.arange(len(gone))
    which, subset = torch.nonzero((code > 0) & (code < 2 ** parts[:, None]), as_tuple=True)
    falls = torch.zeros(len(document), len(gone), dtype=torch.double)
    falls[which, subset] = game(document[which], gone[subset]).double()
    return falls


def by_beam(game: Game, document: Tensor, parts: Tensor, beam: int) -> tuple[Tensor, Tensor]:
    """High and low sums of falls, [D] each, that a beam search finds; all documents and both ends share calls."""
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
        found = torch.where(parts == step, total.amax(1), found)
    return found


def _step(gain: Game, gone: Tensor, total: Tensor, real: Tensor, beam: int) -> tuple[Tensor, Tensor]:
    """Take one more part away in every way, and keep the best `beam` states of each search."""
    alive = total.isfinite()[:, :, None]
    search, state, part = torch.nonzero(alive & real[:, None] & ~gone, as_tuple=True)
    sets = gone[search, state]
    sets[torch.arange(len(part)), part] = True
    # Orders that arrive at the same set have the same future: one of them, the best so far, goes on.
    states, which = torch.unique(torch.cat([search[:, None], sets.long()], 1), dim=0, return_inverse=True)
    search_of, sets = states[:, 0], states[:, 1:] == 1
    reached = torch.full((len(states),), -torch.inf, dtype=torch.double)
    reached = reached.scatter_reduce(0, which, total[search, state], "amax") + gain(search_of, sets)
    return _best(search_of, sets, reached, len(real), beam)


def _best(search: Tensor, sets: Tensor, reached: Tensor, searches: int, beam: int) -> tuple[Tensor, Tensor]:
    """The best states of each search: [S, W, P], and what they reached [S, W], -inf where there are fewer."""
    counts = torch.bincount(search, minlength=searches)
    place = torch.arange(len(search)) - (counts.cumsum(0) - counts)[search]  # states are sorted by search
    table = torch.full((searches, max(beam, int(counts.max()))), -torch.inf, dtype=torch.double)
    table[search, place] = reached
    index = torch.zeros(table.shape, dtype=torch.long)
    index[search, place] = torch.arange(len(search))
    order = table.argsort(dim=1, descending=True, stable=True)[:, :beam]
    return sets[index.gather(1, order)], table.gather(1, order)
