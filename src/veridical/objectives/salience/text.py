"""Saliences of a text alone: TextRank, and the controls uniform and random."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from veridical.core.component import Count, Presets, Probability, Seed, Weight, Within, option
from veridical.objectives.salience.base import Corpus, Floats, Salience, Scorer, WordPieces, counted

Edges = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""The nodes that edges start at and end at; every edge is there in both directions, each once."""


@dataclass(frozen=True)
class TextRank(Salience):
    """PageRank of a text's word pieces (Mihalcea & Tarau 2004); two pieces are linked when they stand close somewhere.

    In each round a piece gets a fixed amount and what its neighbours give: each shares its score equally among its own
    neighbours. `preset=saloss-code` is what SaLoss's published code does.
    """

    window: Annotated[int, Within(2)] = option(4, "Two pieces are linked when their distance is smaller than this.")
    updates: Count = option(10, "The most rounds.")
    damping: Probability = option(0.85, "The part of a score that comes from neighbours; the fixed rest is 1 minus it.")
    tolerance: Weight = option(1e-5, "Rounds end earlier when no score changes by as much as this.")
    self_loops: bool = option(False, "Link a piece with itself where it repeats within a window.")
    presets: ClassVar[Presets] = {"saloss-code": {"window": 8, "updates": 2, "tolerance": 0.0, "self_loops": True}}

    def fitted(self, corpus: Corpus) -> Scorer:
        return self.scores

    def scores(self, pieces: WordPieces) -> Floats:
        """The score of each piece: [n] gives [n]."""
        nodes, place, _ = counted(pieces)  # equal pieces are one node of the graph
        ranks = self.ranks(self._edges(place, len(nodes)), len(nodes))
        return ranks[place]

    def ranks(self, edges: Edges, nodes: int) -> Floats:
        """The rank of each node of a graph."""
        source, target = edges
        shared = 1 / np.maximum(np.bincount(source, minlength=nodes), 1)  # [N]: what each neighbour gets of a score
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
        # An edge as one number: however often two pieces stand close, they are linked once.
        once = np.unique(np.concatenate([first * nodes + second, second * nodes + first]))
        return once // max(nodes, 1), once % max(nodes, 1)


@dataclass(frozen=True)
class Uniform(Salience):
    """All pieces are equally important. A control: shows what even attention does."""

    def fitted(self, corpus: Corpus) -> Scorer:
        return lambda pieces: np.ones(len(pieces))


@dataclass(frozen=True)
class RandomSalience(Salience):
    """Random numbers between 0 and 1, the same for the same text. A control: shows what uneven attention does."""

    seed: Seed = option(0, "Another seed gives other numbers.")

    def fitted(self, corpus: Corpus) -> Scorer:
        return self._scores

    def _scores(self, pieces: WordPieces) -> Floats:
        # The text is part of the seed: its numbers do not depend on which texts were scored before.
        digest = hashlib.sha256(str(self.seed).encode() + pieces.tobytes()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big")).random(len(pieces))
