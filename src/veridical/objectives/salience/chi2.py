"""Chi-square: pieces whose use differs between the classes are important."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veridical.objectives.salience.base import Corpus, Floats, Scorer, counted
from veridical.objectives.salience.tf_idf import inverse_frequencies, look_up, weigh


@dataclass(frozen=True)
class Chi2:
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
    cells = rows * len(weights) + np.concatenate([ids for ids, _, _ in parts])
    classes = int(corpus.labels.max()) + 1
    sums = np.bincount(cells, weights=values, minlength=classes * len(weights))
    return np.asarray(sums, np.float64).reshape(classes, len(weights))


def _chi_square(observed: Floats, sizes: npt.NDArray[np.intp]) -> Floats:
    expected = np.outer(sizes / sizes.sum(), observed.sum(0))  # [C, V]
    distance = np.square(observed - expected) / np.where(expected > 0, expected, 1)
    found: Floats = distance.sum(0)
    return found
