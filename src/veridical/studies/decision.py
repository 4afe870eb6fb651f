"""Which of several trained candidates explains itself best: means over shared documents, and contrasts."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.audits import Audit
from veridical.audits.statistics.findings import Contrast
from veridical.audits.statistics.tables import contrasts
from veridical.core.errors import UsageError
from veridical.run.train import Trained

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9

_MAIN_FIGURES = ("pearson", "micro_f1", "accuracy")
"""Figures that checkpoints are kept by, unless another one is named; sets of labels have an accuracy, too."""


@dataclass(frozen=True)
class Candidate:
    """An objective, its trainings, and the mean of the metric over documents for each of them.

    `skill` is the mean over seeds of the dev figure that checkpoints were kept by; a candidate that lost too much of it
    is not `eligible`. `contrast` is the first candidate minus this one, paired by document after averaging over seeds.
    Means are NaN where the metric is undefined for all documents of a seed; there is no contrast then.
    """

    objective: str
    trained: tuple[Trained, ...]
    means: tuple[float, ...]
    skill: float
    eligible: bool
    contrast: Contrast | None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.means)


@dataclass(frozen=True)
class Choice:
    """All candidates, and the one that does best by a metric of a method; `figure` is what `skill` means.

    `documents` is how many decided: those for which the metric of every candidate is defined.
    """

    method: str
    metric: str
    greater_is_better: bool
    figure: str
    documents: int
    candidates: tuple[Candidate, ...]
    best: Candidate


def decide(
    trained: Mapping[str, Sequence[Trained]],
    audits: Mapping[str, Sequence[Audit]],
    method: str,
    figure: str | None,
    lose: float | None,
) -> Choice:
    """The best of several candidates, by the first metric of their audits and one method.

    `trained` and `audits` have one entry per objective, the first of which is the base, and one value per seed there.
    `figure` is the dev figure that checkpoints were kept by, and `lose` how much of it the best may have lost.
    """
    first, metric = next(iter(trained)), next(iter(audits.values()))[0].metrics[0]
    figure = figure or next(name for name in _MAIN_FIGURES if name in trained[first][0].dev)
    documents = list(dict.fromkeys(each.id for found in audits.values() for one in found for each in one.documents))
    values = _shared({name: aligned(found, metric.name, method, documents) for name, found in audits.items()})
    compared = _compared(values, first, metric.greater_is_better)
    skills = {name: statistics.fmean(each.dev[figure] for each in runs) for name, runs in trained.items()}
    sign = -1 if figure == "loss" else 1
    candidates = tuple(
        Candidate(
            objective=name,
            trained=tuple(runs),
            means=tuple(values[name].mean(1).tolist()),
            skill=skills[name],
            eligible=lose is None or sign * (skills[first] - skills[name]) <= lose + _TOLERANCE,
            contrast=compared.get(name),
        )
        for name, runs in trained.items()
    )
    best = _best(candidates, metric.name, metric.greater_is_better)
    return Choice(
        method, metric.name, metric.greater_is_better, figure, values[best.objective].shape[1], candidates, best
    )


def aligned(audits: Sequence[Audit], metric: str, method: str, documents: Sequence[str]) -> Floats:
    """One number for each audit and document, [A, D]; NaN where an audit has none."""
    found = [dict(zip([each.id for each in one.documents], one.values(metric, method), strict=True)) for one in audits]
    return np.array([[values.get(document, np.nan) for document in documents] for values in found])


def _shared(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """The values [S, D] of documents that every candidate has; a candidate without any does not count, and is NaN."""
    undefined = {name for name, found in values.items() if np.isnan(found).all(1).any()}
    known = [~np.isnan(found).any(0) for name, found in values.items() if name not in undefined]
    shared = np.logical_and.reduce(known) if known else np.zeros(0, dtype=bool)
    return {
        name: np.full((len(found), 1), np.nan) if name in undefined or not shared.any() else found[:, shared]
        for name, found in values.items()
    }


def _compared(values: Mapping[str, Floats], first: str, greater: bool) -> dict[str, Contrast]:
    """The first candidate minus each other one, document by document after averaging over seeds."""
    means = {name: found.mean(0) for name, found in values.items()}  # [D]
    others = [name for name in means if name != first and not np.isnan(means[first] - means[name]).any()]
    found = contrasts([means[first] - means[name] for name in others], [greater] * len(others))
    return dict(zip(others, found, strict=True))


def _best(candidates: Sequence[Candidate], metric: str, greater: bool) -> Candidate:
    possible = [each for each in candidates if each.eligible and not np.isnan(each.mean)]
    if not possible:
        raise UsageError(
            f"nothing can be chosen by {metric}: it is undefined for every candidate that may win, or for every "
            "document that they share",
            remedy="Choose by another metric or method, or audit more documents.",
        )
    return max(possible, key=lambda each: each.mean if greater else -each.mean)
