"""Trying a method out on a few examples, at settings that take seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from veridical.core.errors import UnsupportedError
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.masking import ERASERS, Case
from veridical.run.checks.erasing import usable
from veridical.run.checks.finding import Finding

_SAMPLES = 128
_BACKGROUND = 8


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
    explainer = EXPLAINERS.create(name)
    try:
        case.classifier.require(*sorted(explainer.needs), asker=name)
    except UnsupportedError as error:
        return Finding(name, "not possible", f"{error.problem.removeprefix(f'{name} ')}.")
    instead = _other_eraser(explainer, case)
    explainer = _cheap(name, explainer, case, instead)
    scores = explainer.scores(case)
    return Trial(name, explainer, scores, _gap(explainer, case, scores.values), instead)


def _other_eraser(explainer: Explainer, case: Case) -> str | None:
    """An eraser that the model has, if it lacks the one that the method uses by default."""
    own = getattr(explainer, "eraser", None)
    if own is None or ERASERS.create(own).needs in case.classifier.provides:
        return None
    return next(iter(usable(case)), None)


def _cheap(name: str, explainer: Explainer, case: Case, eraser: str | None) -> Explainer:
    options: dict[str, Any] = {} if eraser is None else {"eraser": eraser}
    if name in ("lime", "kernel-shap"):
        options["samples"] = max(_SAMPLES, 2 * case.live.shape[1] + 2)  # they refuse fewer than there are words
    if name == "deep-shap":
        options["samples"] = _BACKGROUND
    return cast("Explainer", replace(cast("Any", explainer), **options)) if options else explainer


def _gap(explainer: Explainer, case: Case, scores: Tensor) -> float:
    shortest = min(range(len(case)), key=lambda index: len(case.batch.units[index]))
    alone = Case.bind(case.classifier, [case.batch.examples[shortest]], eraser=case.eraser, engine=case.engine)
    one = explainer.scores(alone).values[0]
    among = scores[shortest, : len(one)]
    return float((one - among).abs().max() / among.abs().max().clamp(min=torch.finfo(among.dtype).tiny))
