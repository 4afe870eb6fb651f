"""How alike two explanations of the same document are: the words on top they share, and their rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from veridical.core.errors import InputError
from veridical.core.rationale import share

Floats = NDArray[np.float64]
Scores = Sequence[float]


def jaccard(one: Scores, other: Scores, ratio: float = 0.25) -> float:
    """The positions that both explanations have in their first `ratio`, over those that either has.

    NaN for a document without words. What chance reaches is about `ratio / (2 - ratio)`.
    """
    return float(_overlaps(_stacked([one, other]), ratio)[0, 1])


def rank_correlation(one: Scores, other: Scores, kind: Literal["spearman", "kendall"] = "spearman") -> float:
    """How alike two rankings are, from -1 to 1; NaN where one of them ranks nothing, as all its scores are equal."""
    scores = _stacked([one, other])
    if scores.shape[1] == 0 or (np.ptp(scores, axis=1) == 0).any():
        return math.nan
    measure = spearmanr if kind == "spearman" else kendalltau
    return float(measure(*scores).statistic)


def agreement(scores_by_method: Mapping[str, Sequence[Scores]], ratio: float = 0.25) -> Floats:
    """The mean `jaccard` of each method with each over documents, [M, M], in the order of the methods.

    Every method has the scores of the same documents in the same order. Documents without words do not count.
    """
    methods = list(scores_by_method.values())
    _check_same_number(scores_by_method)
    overlaps = [_overlaps(_stacked(document), ratio) for document in zip(*methods, strict=True) if len(document[0])]
    return np.mean(overlaps, axis=0) if overlaps else np.full((len(methods), len(methods)), np.nan)


def _overlaps(scores: Floats, ratio: float) -> Floats:
    """`jaccard` of each ranking with each, from the scores [M, n] of one document: [M, M]."""
    methods, units = scores.shape
    if units == 0:
        return np.full((methods, methods), np.nan)
    count = share(ratio, units)
    first = np.argsort(-scores, axis=1, kind="stable")[:, :count]  # equal scores keep their order in the text
    on_top = np.zeros(scores.shape)
    np.put_along_axis(on_top, first, 1.0, axis=1)
    shared = on_top @ on_top.T
    overlaps: Floats = shared / (2 * count - shared)
    return overlaps


def _stacked(document: Sequence[Scores]) -> Floats:
    if any(len(one) != len(other) for one, other in pairwise(document)):
        counts = ", ".join(str(len(scores)) for scores in document)
        raise InputError(
            f"explanations to compare have different numbers of scores: {counts}",
            remedy="Compare explanations of the same documents in the same units.",
        )
    return np.array(document, dtype=float).reshape(len(document), -1)


def _check_same_number(scores_by_method: Mapping[str, Sequence[Scores]]) -> None:
    counts = {name: len(documents) for name, documents in scores_by_method.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise InputError(f"methods to compare explain different documents: {listed}", remedy="Explain all again.")
