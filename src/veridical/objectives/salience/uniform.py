"""The same score everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.objectives.salience.base import Corpus, Scorer


@dataclass(frozen=True)
class Uniform:
    """All pieces are equally important. A control: what any even attention would do."""

    def fitted(self, corpus: Corpus) -> Scorer:
        return lambda pieces: np.ones(len(pieces))
