"""Saliences that look at all training texts first: TF-IDF and chi-square."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veridical.objectives.salience.base import Corpus, Floats, Salience, Scorer, WordPieces, counted


@dataclass(frozen=True)
class TfIdf(Salience):
    """How often a piece occurs in the text, times `ln((1 + N) / (1 + df)) + 1` of the training data, as a unit vector.

    N is the number of texts and df that of texts with the piece. Pieces that the training data do not have score 0.
    """

    def fitted(self, corpus: Corpus) -> Scorer:
        weights = inverse_frequencies(corpus.texts)

        def scores(pieces: WordPieces) -> Floats:
            ids, place, counts = counted(pieces)
            return weigh(ids, counts, weights)[place]

        return scores


def inverse_frequencies(texts: list[WordPieces]) -> Floats:
    """The weight of each piece by its id, 0 for those that no text has."""
    present = np.concatenate([np.unique(text) for text in texts])
    frequency = np.bincount(present, minlength=1)  # a table of nothing could not be looked up in
    return np.where(frequency > 0, np.log((1 + len(texts)) / (1 + frequency)) + 1, 0.0)


def weigh(ids: WordPieces, counts: npt.NDArray[np.intp], weights: Floats) -> Floats:
    """The TF-IDF values of a text's distinct pieces, a vector of length 1 where any of them is known."""
    values = counts * look_up(weights, ids)
    length = np.sqrt(np.square(values).sum())
    return values / length if length else values


def look_up(table: Floats, ids: WordPieces) -> Floats:
    """What a table holds for some ids, 0 beyond its end."""
    return np.where(ids < len(table), table[np.minimum(ids, len(table) - 1)], 0.0)


@dataclass(frozen=True)
class Chi2(Salience):
    """The chi-square statistic of a piece's TF-IDF values against the training labels, the same in every text.

    The only salience that looks at labels. Pieces that the training data do not have score 0.
    """

    def fitted(self, corpus: Corpus) -> Scorer:
        table = _chi_square(_sums_by_class(corpus), np.bincount(corpus.labels))
        return lambda pieces: look_up(table, pieces)


def _sums_by_class(corpus: Corpus) -> Floats:
    """The TF-IDF values of each piece, summed over the texts of each class: [C, V]."""
    weights = inverse_frequencies(corpus.texts)
    parts = [counted(text) for text in corpus.texts]
    values = np.concatenate([weigh(ids, counts, weights) for ids, _, counts in parts])
    rows = np.repeat(corpus.labels, [len(ids) for ids, _, _ in parts])
    # A cell of the table [C, V] as one number, so that one count over all texts fills it.
    cells = rows * len(weights) + np.concatenate([ids for ids, _, _ in parts])
    classes = int(corpus.labels.max()) + 1
    sums = np.bincount(cells, weights=values, minlength=classes * len(weights))
    return np.asarray(sums, np.float64).reshape(classes, len(weights))


def _chi_square(observed: Floats, sizes: npt.NDArray[np.intp]) -> Floats:
    # What each class would have of a piece if pieces did not depend on classes.
    expected = np.outer(sizes / sizes.sum(), observed.sum(0))  # [C, V]
    distance = np.square(observed - expected) / np.where(expected > 0, expected, 1)
    found: Floats = distance.sum(0)
    return found
