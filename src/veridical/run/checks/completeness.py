"""Whether scores add up to the difference they share out, for the methods that promise it."""

from __future__ import annotations

from veridical.run.checks.finding import Finding, percent
from veridical.run.checks.trials import Trial

LIMIT = 0.05
"""The part of the difference that may be missing."""

VARIANT = "deep-lift(complete=true)"
"""Tried beside the registered methods, as the way out where plain DeepLift does not add up."""

REMEDIES = {
    "integrated-gradients": "Use integrated-gradients(baseline=content), or more steps: most=1024.",
    "deep-lift": f"Use {VARIANT}.",
    VARIANT: "A layer of this model has no rule; use integrated-gradients.",
    "deep-shap": "A layer of this model has no rule; use integrated-gradients.",
    "kernel-shap": "Allow it more questions: kernel-shap(samples=4000).",
}


def completeness(trial: Trial) -> Finding | None:
    """The finding on one method; None for methods that promise nothing."""
    if trial.name not in REMEDIES:
        return None
    residual, difference = (trial.scores.measures[name].abs().sum() for name in ("residual", "difference"))
    part = float(residual / difference) if difference else 0.0
    details = {"residuals": trial.scores.measures["residual"].tolist()}
    if part <= LIMIT:
        meaning = f"The scores add up to the difference they share out, with an error of {percent(part)}."
        return Finding(_name(trial), "ok", meaning, "", part, LIMIT, is_share=True, details=details)
    meaning = f"The scores do not add up to the difference they share out: the error is {percent(part)} of it."
    return Finding(_name(trial), "warning", meaning, REMEDIES[trial.name], part, LIMIT, is_share=True, details=details)


def _name(trial: Trial) -> str:
    return f"{trial.name} adds up"
