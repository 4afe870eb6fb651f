"""Bounds of erasing: the highest and lowest mean fall of any order, exactly for few parts, by a search for many.

Nothing here knows of models: a game is a function that says how far a value falls when some parts are gone.
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
