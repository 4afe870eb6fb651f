"""Chance scores."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from veridical.objectives.salience.base import Corpus, Floats, Pieces, Scorer


@dataclass(frozen=True)
class Random:
    """Chance between 0 and 1, the same for the same text and `seed`. A control: what any uneven attention would do."""

    seed: int = 0

    def fitted(self, corpus: Corpus) -> Scorer:
        return self._scores

    def _scores(self, pieces: Pieces) -> Floats:
        digest = hashlib.sha256(str(self.seed).encode() + pieces.tobytes()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big")).random(len(pieces))
