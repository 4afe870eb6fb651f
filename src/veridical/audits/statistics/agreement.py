"""How alike methods are, by their scores and by what metrics say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from veridical.audits.record import Audit, AuditedMetric
from veridical.audits.statistics.findings import Agreement
from veridical.audits.statistics.samples import Numbers
from veridical.core.errors import InputError
from veridical.core.rationale import share

DocumentScores = Sequence[float]


def jaccard(one: DocumentScores, other: DocumentScores, ratio: float = 0.25) -> float:
    """The positions that both explanations have in their first `ratio`, over those that either has.

    NaN for a document without words. What chance reaches is about `ratio / (2 - ratio)`.
    """
    return float(_overlaps(_stacked([one, other]), ratio)[0, 1])


def agreement(scores_by_method: Mapping[str, Sequence[DocumentScores]], ratio: float = 0.25) -> Numbers:
    """The mean `jaccard` of each method with each over documents, [M, M], in the order of the methods.

    Every method has the scores of the same documents in the same order. Documents without words do not count.
    """
    methods = list(scores_by_method.values())
    _check_same_number(scores_by_method)
    overlaps = [_overlaps(_stacked(document), ratio) for document in zip(*methods, strict=True) if len(document[0])]
    return np.mean(overlaps, axis=0) if overlaps else np.full((len(methods), len(methods)), np.nan)


def _overlaps(scores: Numbers, ratio: float) -> Numbers:
    """`jaccard` of each ranking with each, from the scores [M, n] of one document: [M, M]."""
    methods, units = scores.shape
    if units == 0:
        return np.full((methods, methods), np.nan)
    count = share(ratio, units)
    first = np.argsort(-scores, axis=1, kind="stable")[:, :count]  # equal scores keep their order in the text
    on_top = np.zeros(scores.shape)
    np.put_along_axis(on_top, first, 1.0, axis=1)
    shared = on_top @ on_top.T
    overlaps: Numbers = shared / (2 * count - shared)
    return overlaps


def _stacked(document: Sequence[DocumentScores]) -> Numbers:
    if any(len(one) != len(other) for one, other in pairwise(document)):
        counts = ", ".join(str(len(scores)) for scores in document)
        raise InputError(
            f"explanations to compare have different numbers of scores: {counts}",
            remedy="Compare explanations of the same documents in the same units.",
        )
    return np.array(document, dtype=float).reshape(len(document), -1)


def _check_same_number(scores_by_method: Mapping[str, Sequence[DocumentScores]]) -> None:
    counts = {name: len(documents) for name, documents in scores_by_method.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise InputError(f"methods to compare explain different documents: {listed}", remedy="Explain all again.")


def agreements(audit: Audit) -> tuple[Agreement, ...]:
    """A matrix of each metric that says which class the words kept give."""
    found = (_agreement(audit, metric) for metric in audit.metrics)
    return tuple(each for each in found if each.methods)


def _agreement(audit: Audit, metric: AuditedMetric) -> Agreement:
    classes = {method.name: audit.detail("class", metric.name, method.name) for method in audit.methods}
    given = {name: each for name, each in classes.items() if not np.isnan(each).all()}
    values = tuple(tuple(_same(one, other) for other in given.values()) for one in given.values())
    meaning = "The share of documents on which the words that two methods keep give the same class."
    return Agreement(metric.name, meaning, tuple(given), values)


def _same(one: Numbers, other: Numbers) -> float:
    both = ~np.isnan(one) & ~np.isnan(other)
    return float((one[both] == other[both]).mean()) if both.any() else np.nan
