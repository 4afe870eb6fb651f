"""How alike documents are: by their words in order (n-grams on sets), or by the vectors of an encoder."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]

Runs = Sequence[Sequence[str]]
"""A text as runs of words; n-grams do not reach from one run into the next."""

Orders = Literal["sum", "mean"]

LONGEST_NGRAM = 4


@dataclass(frozen=True)
class Lexical:
    """Shared n-grams over all n-grams of two texts, for n = 1 to 4: their sum, or the mean of the orders both have.

    Each order is a sparse matrix of documents by n-grams, so that thousands of documents are compared by products.
    """

    grams: Sequence[csr_matrix]
    orders: Orders = "sum"

    @classmethod
    def of(cls, texts: Sequence[Runs], orders: Orders = "sum") -> Lexical:
        """Read texts."""
        counts = range(1, LONGEST_NGRAM + 1)
        return cls([incidence([ngrams(text, count) for text in texts]) for count in counts], orders)

    def __call__(self, part: slice) -> Floats:
        """The similarity of some documents to all, [P, N]."""
        parts = np.stack([_overlaps(grams, part) for grams in self.grams])  # [4, P, N]
        total: Floats = parts.sum(0)
        if self.orders == "sum":
            return total
        has = np.stack([sizes(grams) > 0 for grams in self.grams]).astype(float)  # [4, N]
        mean: Floats = total / np.maximum(has[:, part].T @ has, 1)
        return mean


@dataclass(frozen=True)
class Semantic:
    """The cosine of vectors [N, d]."""

    vectors: Floats

    def __call__(self, part: slice) -> Floats:
        """The similarity of some documents to all, [P, N]."""
        length = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        unit = self.vectors / np.where(length > 0, length, 1)
        cosine: Floats = unit[part] @ unit.T
        return cosine


def ngrams(text: Runs, count: int) -> set[tuple[str, ...]]:
    """The different runs of `count` words in a text."""
    return {tuple(run[at : at + count]) for run in text for at in range(len(run) - count + 1)}


def incidence(sets: Sequence[AbstractSet[Hashable]]) -> csr_matrix:
    """Sets as a sparse matrix of 0 and 1: a row for each, a column for each different member."""
    number: dict[Hashable, int] = {}
    columns = [number.setdefault(member, len(number)) for members in sets for member in members]
    ends = np.cumsum([0, *map(len, sets)])
    return csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(sets), max(1, len(number))))


def sizes(sets: csr_matrix) -> Floats:
    """How many members each set has."""
    counts: Floats = np.diff(sets.indptr).astype(float)
    return counts


def jaccard(one: csr_matrix, other: csr_matrix) -> Floats:
    """The members two sets share over those of either, row by row; 0 for two empty sets."""
    shared = np.asarray(one.multiply(other).sum(1), dtype=float).ravel()
    overlaps: Floats = shared / np.maximum(sizes(one) + sizes(other) - shared, 1)
    return overlaps


def _overlaps(sets: csr_matrix, part: slice) -> Floats:
    """`jaccard` of some rows with all, [P, N]."""
    shared = (sets[part] @ sets.T).toarray()
    size = sizes(sets)
    overlaps: Floats = shared / np.maximum(size[part, None] + size - shared, 1)
    return overlaps
