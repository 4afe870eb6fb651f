"""Trying each method out on a few examples, whether its scores add up, and a verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from veridical.core.errors import UnsupportedError
from veridical.core.folders import has_weights
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.masking import ERASERS, Case
from veridical.models import Ability
from veridical.run.checks.erasure import ATTENTION, RANKING, usable
from veridical.run.checks.finding import Finding, Verdict, percent
from veridical.run.handle import ModelHandle, with_model


@dataclass(frozen=True)
class Trial:
    """What a method said: its scores, and how far those of the shortest example are from its scores alone.

    The `gap` is a part of the largest score. `instead` is the eraser that was used as the model lacks the method's own.
    """

    name: str
    explainer: Explainer
    scores: Scores
    gap: float
    instead: str | None = None


def try_out(name: str, case: Case) -> Trial | Finding:
    """Score a case with a method, if the model has what it needs."""
    try:
        explainer = with_model(case.classifier, EXPLAINERS.create(name))
        ModelHandle(case.classifier).require(explainer)
    except UnsupportedError as error:
        return Finding(name, "not possible", f"{error.problem.removeprefix(f'{name} ')}.")
    instead = _other_eraser(explainer, case)
    explainer = _on_trial(explainer, case, instead)
    scores = explainer.scores(case)
    return Trial(name, explainer, scores, _gap(explainer, case, scores.values), instead)


def _other_eraser(explainer: Explainer, case: Case) -> str | None:
    """An eraser that the model has, if it lacks the one that the method uses by default."""
    own = getattr(explainer, "eraser", None)
    if own is None or has_weights(explainer):  # what has learned with an eraser knows no other
        return None
    if ERASERS.create(own).needs in case.classifier.provides:
        return None
    return next(iter(usable(case)), None)


def _on_trial(explainer: Explainer, case: Case, eraser: str | None) -> Explainer:
    """The method with cheap options, and with another eraser if it needs one."""
    # A plug-in that inherits nothing may do without what the base class of explainers has.
    cheap = explainer.quick(case.live.shape[1]) if hasattr(explainer, "quick") else explainer
    return cheap if eraser is None else cast("Explainer", replace(cast("Any", cheap), eraser=eraser))


def _gap(explainer: Explainer, case: Case, scores: Tensor) -> float:
    # The first of the shortest, so that it is also the first target of its example if that has several.
    shortest = min(range(len(case)), key=lambda index: len(case.batch.units[index]))
    alone = Case.bind(case.classifier, [case.batch.examples[shortest]], eraser=case.eraser, engine=case.engine)
    one = explainer.scores(alone).values[0]
    among = scores[shortest, : len(one)]
    return float((one - among).abs().max() / among.abs().max().clamp(min=torch.finfo(among.dtype).tiny))


MISSING_LIMIT = 0.05
"""The part of the difference that may be missing."""


def completeness(trial: Trial) -> Finding | None:
    """Whether the scores of a method add up as they should; None for a method that does not promise it."""
    measures = trial.scores.measures
    if not {"residual", "difference"} <= measures.keys():
        return None
    residual, difference = (measures[name].abs().sum() for name in ("residual", "difference"))
    part = float(residual / difference) if difference else 0.0
    details = {"residuals": measures["residual"].tolist()}
    if part <= MISSING_LIMIT:
        meaning = f"The scores add up to the difference they share out, with an error of {percent(part)}."
        return Finding(_name(trial), "ok", meaning, "", part, MISSING_LIMIT, is_share=True, details=details)
    meaning = f"The scores do not add up to the difference they share out: the error is {percent(part)} of it."
    remedy = getattr(trial.explainer, "remedy", "")
    return Finding(_name(trial), "warning", meaning, remedy, part, MISSING_LIMIT, is_share=True, details=details)


def _name(trial: Trial) -> str:
    return f"{trial.name} adds up"


GAP_LIMIT = 1e-3
"""How far scores alone and in a batch may be apart, as a part of the largest; samplers stop by what they see."""


def verdict_on(trial: Trial, checks: Mapping[str, Finding]) -> Finding:
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
    ranking, attention = checks[RANKING], checks[ATTENTION]
    if hasattr(trial.explainer, "eraser") and ranking.verdict == "warning":
        yield replace(ranking, meaning="other erasers rank words otherwise, rank correlation", remedy="")
    if Ability.CLS_ATTENTIONS in trial.explainer.needs and attention.verdict == "warning":
        yield replace(attention, meaning="of the attention, positions without a score take", remedy="")


def _sameness(trial: Trial) -> Finding:
    same = trial.gap <= GAP_LIMIT
    verdict: Verdict = "ok" if same else "warning"
    meaning = "same in a batch, to" if same else "other scores in a batch than alone, by"
    return Finding(trial.name, verdict, meaning, value=trial.gap, limit=GAP_LIMIT)


def _with_number(note: Finding) -> str:
    return f"{note.meaning} {note.measured} ({note.allowed})" if note.measured else note.meaning
