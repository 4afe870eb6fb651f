"""TF-IDF: pieces that are frequent in a text and rare elsewhere are important."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veridical.objectives.salience.base import Corpus, Floats, Pieces, Scorer, counted


@dataclass(frozen=True)
class TfIdf:
    """How often a piece occurs in the text, times `ln((1 + N) / (1 + df)) + 1` of the training data, as a unit vector.

    N is the number of texts and df that of texts with the piece. Pieces that the training data do not have score 0.
    """

    def fitted(self, corpus: Corpus) -> Scorer:
        weights = inverse_frequencies(corpus.texts)

        def scores(pieces: Pieces) -> Floats:
            ids, place, counts = counted(pieces)
            return weigh(ids, counts, weights)[place]

        return scores


def inverse_frequencies(texts: list[Pieces]) -> Floats:
    """The weight of each piece by its id, 0 for those that no text has."""
    present = np.concatenate([np.unique(text) for text in texts])
    frequency = np.bincount(present, minlength=1)  # a table of nothing could not be looked up in
    return np.where(frequency > 0, np.log((1 + len(texts)) / (1 + frequency)) + 1, 0.0)


def weigh(ids: Pieces, counts: npt.NDArray[np.intp], weights: Floats) -> Floats:
    """The TF-IDF values of a text's distinct pieces, a vector of length 1 where any of them is known."""
    values = counts * look_up(weights, ids)
    length = np.sqrt(np.square(values).sum())
    return values / length if length else values


def look_up(table: Floats, ids: Pieces) -> Floats:
    """What a table holds for some ids, 0 beyond its end."""
    return np.where(ids < len(table), table[np.minimum(ids, len(table) - 1)], 0.0)
