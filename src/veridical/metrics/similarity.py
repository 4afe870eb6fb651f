"""Similarity of texts, by words or by the vectors of an encoder, and the nearest neighbours of each text."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

from veridical.core.values import Example
from veridical.masking import Engine
from veridical.models import Classifier, Rows
from veridical.models.new import start
from veridical.models.text_rows import texts_of

Floats = NDArray[np.float64]

Runs = Sequence[Sequence[str]]
"""A text as runs of words; n-grams do not reach from one run into the next."""

Orders = Literal["sum", "mean"]

LONGEST_NGRAM = 4


@dataclass(frozen=True)
class Lexical:
    """Shared n-grams over all n-grams of two texts, for n = 1 to 4: their sum, or the mean of the orders both have.

    Each order is a sparse matrix of documents by n-grams, so that one matrix product compares thousands of documents.
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
        # A text of two words has no 3-grams: an order counts where both texts have n-grams of it.
        has = np.stack([sizes(grams) > 0 for grams in self.grams]).astype(float)  # [4, N]
        mean: Floats = total / np.maximum(has[:, part].T @ has, 1)  # [P, N]: how many orders both have
        return mean


@dataclass(frozen=True)
class Semantic:
    """The cosine of vectors [N, d]."""

    vectors: Floats

    def __call__(self, part: slice) -> Floats:
        """The similarity of some documents to all, [P, N]."""
        length = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        unit = self.vectors / np.where(length > 0, length, 1)  # a vector of zeros is similar to nothing
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
    # The product of two rows of 0 and 1 counts the members that both have.
    shared = (sets[part] @ sets.T).toarray()
    size = sizes(sets)
    overlaps: Floats = shared / np.maximum(size[part, None] + size - shared, 1)
    return overlaps


_REMEMBER = 20_000
_AT_ONCE = 256

Texts = tuple[str, str]


@dataclass(frozen=True)
class Encoder:
    """An encoder that remembers the vectors of texts, because all methods of an audit are judged on the same texts."""

    classifier: Classifier
    known: dict[Texts, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    def vectors(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """One vector per example, [N, d]."""
        texts = {texts_of(example): example for example in examples}  # equal texts are read once
        fresh = [example for key, example in texts.items() if key not in self.known]
        for at in range(0, len(fresh), _AT_ONCE):
            part = fresh[at : at + _AT_ONCE]
            self.known.update(zip(map(texts_of, part), self._read(part).numpy(), strict=True))
        found = np.stack([self.known[texts_of(example)] for example in examples]).astype(np.float64)
        for key in list(self.known)[:-_REMEMBER]:  # the oldest
            del self.known[key]
        return found

    def _read(self, examples: Sequence[Example]) -> Tensor:
        rows = self.classifier.encode(examples).rows
        sums = Engine().run(self.classifier, rows, torch.arange(len(rows)), self._sums)  # [R, d]
        # The windows of a long document are added up: only the direction of a vector matters, not its length.
        return torch.zeros(len(examples), sums.shape[1]).index_add(0, rows.owner, sums)

    def _sums(self, rows: Rows) -> Tensor:
        """The sum of the last hidden states of each row, [r, d]."""
        hidden = self.classifier.run(rows, hidden=True).hidden
        assert hidden is not None
        last = hidden[-1].float().cpu()  # [r, l, d]
        real = torch.arange(last.shape[1]) < rows.lengths[:, None]  # [r, l]
        return (last * real[..., None]).sum(1)


@lru_cache(maxsize=1)
def load_encoder(source: str) -> Encoder:
    """The encoder of a folder or hub id, or the `embedded` one. It is kept until another is asked for."""
    # Only the hidden states are read, so it does not matter what the new head would say.
    return Encoder(start(source, [Example.of("")], ("no", "yes")))


Similarity = Callable[[slice], NDArray[np.float64]]
"""Gives the similarity of a portion of documents to all, [P, N]."""

NOBODY = -1

_CELLS_AT_ONCE = 1_000_000


def nearest(similarity: Similarity, size: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The `count` most similar others of each of `size` documents, and their similarities: [N, count] each.

    The most similar one comes first; of equally similar ones, the first document. Where there are not enough others,
    there is `NOBODY`, with the similarity NaN.
    """
    found = [_best(similarity(part), part.start, count) for part in _portions(size)]
    return np.concatenate([index for index, _ in found]), np.concatenate([close for _, close in found])


def _portions(size: int) -> Iterator[slice]:
    """The documents in portions whose similarities to all fit into memory: 8 MB, whatever the number of documents."""
    step = max(1, _CELLS_AT_ONCE // size)
    return (slice(start, min(start + step, size)) for start in range(0, size, step))


def _best(similarity: NDArray[np.float64], start: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    rows = np.arange(len(similarity))
    similarity[rows, start + rows] = -np.inf  # nobody is a neighbour of itself
    index = np.full((len(rows), count), NOBODY, dtype=np.intp)
    close = np.full((len(rows), count), np.nan)
    # The highest is taken `count` times: for few neighbours this is faster than sorting, and argmax takes the first
    # of equal ones.
    for rank in range(min(count, similarity.shape[1] - 1)):
        index[:, rank] = similarity.argmax(1)
        close[:, rank] = similarity[rows, index[:, rank]]
        similarity[rows, index[:, rank]] = -np.inf
    return index, close
