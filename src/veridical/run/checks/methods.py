"""A verdict on each method, in words: it works, it works but something should be known, or it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch

from veridical.explainers import EXPLAINERS
from veridical.run.checks import attending, erasing
from veridical.run.checks.completeness import completeness
from veridical.run.checks.finding import Finding, Verdict
from veridical.run.checks.trials import Trial

LIMIT = 1e-3
"""How far scores alone and in a batch may be apart, as a part of the largest; samplers stop by what they see."""


def judge(trial: Trial, checks: Mapping[str, Finding]) -> Finding:
    """The verdict on a method that was tried out, given what was found out about the model.

    The number is that of the first doubt, or of the first thing that was looked at if there is none.
    """
    notes = list(_notes(trial, checks))
    doubts = [note for note in notes if note.verdict != "ok"]
    shown = doubts or notes
    return replace(
        shown[0],
        name=trial.name,
        meaning="; ".join(_with_number(note) for note in shown) + ".",
        remedy=" ".join(note.remedy for note in doubts if note.remedy),
        details=EXPLAINERS.spec(trial.explainer),
    )


def _notes(trial: Trial, checks: Mapping[str, Finding]) -> Iterator[Finding]:
    """What there is to say of a method, good and bad."""
    if not torch.isfinite(trial.scores.values).all():
        yield Finding(trial.name, "problem", "some scores are not numbers")
        return
    yield _sameness(trial)
    if not trial.scores.values.any():
        yield Finding(trial.name, "warning", "all scores are 0")
    if sums := completeness(trial):
        yield replace(sums, meaning="adds up, error" if sums.verdict == "ok" else "scores do not add up, error")
    if trial.instead:
        yield Finding(
            trial.name, "warning", f"only with eraser={trial.instead}, as the model lacks the means for its own"
        )
    ranking, attention = checks[erasing.RANKING], checks[attending.NAME]
    if hasattr(trial.explainer, "eraser") and ranking.verdict == "warning":
        yield replace(ranking, meaning="other erasers rank words otherwise, rank correlation", remedy="")
    if "cls-attentions" in trial.explainer.needs and attention.verdict == "warning":
        yield replace(attention, meaning="of the attention, positions without a score take", remedy="")


def _sameness(trial: Trial) -> Finding:
    same = trial.gap <= LIMIT
    verdict: Verdict = "ok" if same else "warning"
    meaning = "same in a batch, to" if same else "other scores in a batch than alone, by"
    return Finding(trial.name, verdict, meaning, value=trial.gap, limit=LIMIT)


def _with_number(note: Finding) -> str:
    return f"{note.meaning} {note.measured} ({note.allowed})" if note.measured else note.meaning
