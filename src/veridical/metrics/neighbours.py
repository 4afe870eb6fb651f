"""The documents most like a document, found in portions so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

Similarity = Callable[[slice], NDArray[np.float64]]
"""Gives the similarity of a portion of documents to all, [P, N]."""

NOBODY = -1

_AT_ONCE = 1_000_000


def nearest(similarity: Similarity, size: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The `count` others most like each of `size` documents, and how alike: [N, count] each, the most alike first.

    Of equally similar ones the first is taken. Where there are not enough others, `NOBODY`, with the similarity NaN.
    """
    found = [_best(similarity(part), part.start, count) for part in _portions(size)]
    return np.concatenate([index for index, _ in found]), np.concatenate([alike for _, alike in found])


def _portions(size: int) -> Iterator[slice]:
    step = max(1, _AT_ONCE // size)
    return (slice(start, min(start + step, size)) for start in range(0, size, step))


def _best(similarity: NDArray[np.float64], start: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    rows = np.arange(len(similarity))
    similarity[rows, start + rows] = -np.inf  # nobody is a neighbour of itself
    index = np.full((len(rows), count), NOBODY, dtype=np.intp)
    alike = np.full((len(rows), count), np.nan)
    for rank in range(min(count, similarity.shape[1] - 1)):
        index[:, rank] = similarity.argmax(1)
        alike[:, rank] = similarity[rows, index[:, rank]]
        similarity[rows, index[:, rank]] = -np.inf
    return index, alike
