"""Saliences of a text alone: TextRank, and the controls uniform and random."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from veridical.core.component import Presets
from veridical.objectives.salience.base import Corpus, Floats, Salience, Scorer, WordPieces, counted

Edges = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""From where to where, each edge once in each direction."""


@dataclass(frozen=True)
class TextRank(Salience):
    """PageRank of a text's word pieces (Mihalcea & Tarau 2004); two pieces are linked when they stand close somewhere.

    Close is a distance below `window`. Each of at most `updates` rounds gives a piece `1 - damping` and `damping` of
    what its neighbours share out equally; rounds end when no score moves by `tolerance`. With `self_loops` a piece that
    repeats within a window is its own neighbour. `preset=saloss-code` is what SaLoss's published code does.
    """

    window: int = 4
    updates: int = 10
    damping: float = 0.85
    tolerance: float = 1e-5
    self_loops: bool = False
    presets: ClassVar[Presets] = {"saloss-code": {"window": 8, "updates": 2, "tolerance": 0.0, "self_loops": True}}

    def fitted(self, corpus: Corpus) -> Scorer:
        return self.scores

    def scores(self, pieces: WordPieces) -> Floats:
        """The score of each piece: [n] gives [n]."""
        nodes, place, _ = counted(pieces)
        ranks = self.ranks(self._edges(place, len(nodes)), len(nodes))
        return ranks[place]

    def ranks(self, edges: Edges, nodes: int) -> Floats:
        """The rank of each node of a graph."""
        source, target = edges
        shared = 1 / np.maximum(np.bincount(source, minlength=nodes), 1)  # [N]
        ranks: Floats = np.ones(nodes)
        for _ in range(self.updates):
            received = np.bincount(target, weights=(ranks * shared)[source], minlength=nodes)
            before, ranks = ranks, np.asarray((1 - self.damping) + self.damping * received, np.float64)
            if np.abs(ranks - before).max(initial=0.0) < self.tolerance:
                break
        return ranks

    def _edges(self, place: npt.NDArray[np.intp], nodes: int) -> Edges:
        distances = range(1, min(self.window, len(place)))
        first = np.concatenate([place[:0], *(place[:-distance] for distance in distances)])
        second = np.concatenate([place[:0], *(place[distance:] for distance in distances)])
        if not self.self_loops:
            apart = first != second
            first, second = first[apart], second[apart]
        once = np.unique(np.concatenate([first * nodes + second, second * nodes + first]))
        return once // max(nodes, 1), once % max(nodes, 1)


@dataclass(frozen=True)
class Uniform(Salience):
    """All pieces are equally important. A control: what any even attention would do."""

    def fitted(self, corpus: Corpus) -> Scorer:
        return lambda pieces: np.ones(len(pieces))


@dataclass(frozen=True)
class RandomSalience(Salience):
    """Chance between 0 and 1, the same for the same text and `seed`. A control: what any uneven attention would do."""

    seed: int = 0

    def fitted(self, corpus: Corpus) -> Scorer:
        return self._scores

    def _scores(self, pieces: WordPieces) -> Floats:
        digest = hashlib.sha256(str(self.seed).encode() + pieces.tobytes()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big")).random(len(pieces))
