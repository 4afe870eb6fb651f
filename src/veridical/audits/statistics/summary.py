"""The statistics of an audit in one value, and those of attacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veridical.audits.record import Audit
from veridical.audits.statistics.findings import Summary
from veridical.audits.statistics.groups import agreements, breakdown, curves, flip_curves, removals
from veridical.audits.statistics.samples import Numbers
from veridical.audits.statistics.tables import table
from veridical.audits.statistics.verdicts import cautions, verdicts


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


def summarise(audit: Audit) -> Summary:
    """All statistics of an audit, and what to take from them in words."""
    tables = tuple(table(audit, metric) for metric in audit.metrics)
    removed = removals(audit, tables)
    return Summary(
        model=audit.model_name,
        data=audit.data,
        documents=len(audit.documents),
        tables=tables,
        parts=breakdown(audit),
        curves=curves(audit),
        flips=flip_curves(audit),
        removals=removed,
        agreements=(*agreements(audit), *([audit.likeness] if audit.likeness else [])),
        verdict=verdicts(audit, tables, removed),
        warnings=cautions(audit, tables),
    )
