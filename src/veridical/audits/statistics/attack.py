"""What an attack did to a model, in the numbers that papers print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veridical.audits.statistics.samples import Numbers


@dataclass(frozen=True)
class AttackStatistics:
    """Counts of documents, and shares and means over them, NaN where there is none to count.

    `skipped` are those the model was wrong about from the start. `perturbed` is the mean share of words that successful
    attacks changed, `words` the mean length of all documents, `queries` the mean of those attacked.
    """

    successes: int
    failures: int
    skipped: int
    original_accuracy: float
    accuracy_under_attack: float
    success_rate: float
    perturbed: float
    words: float
    queries: float


def attack_statistics(values: Numbers, details: Mapping[str, Numbers]) -> AttackStatistics:
    """The statistics of the metric `attack`, from its values [N] and its details [N] by name.

    Documents without a known label are left out: their detail `right` is NaN.
    """
    known = ~np.isnan(details["right"])
    successes, failures = int((values[known] == 1).sum()), int((values[known] == 0).sum())
    total, attacked = int(known.sum()), successes + failures
    return AttackStatistics(
        successes=successes,
        failures=failures,
        skipped=total - attacked,
        original_accuracy=_share(attacked, total),
        accuracy_under_attack=_share(failures, total),
        success_rate=_share(successes, attacked),
        perturbed=_mean(details["perturbed"], values == 1),
        words=_mean(details["words"], known),
        queries=_mean(details["queries"], ~np.isnan(values)),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan


def _mean(numbers: Numbers, here: np.ndarray) -> float:
    return float(numbers[here].mean()) if here.any() else np.nan
