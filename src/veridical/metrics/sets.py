"""Sets of metrics by name: what is measured by default, and what others measure, in the way that they measure it."""

from __future__ import annotations

from dataclasses import dataclass

_EVIDENCE = ("rationale-auc", "rationale-f1", "reasons-on-top")


@dataclass(frozen=True)
class MetricSet:
    """Metrics that one name stands for, as a person would write them, and a sentence that helps to choose the set."""

    meaning: str
    metrics: tuple[str, ...]


DEFAULT, OF_NUMBERS = "default", "numbers"
"""The set that `default` stands for: the first one, or the second for a model that gives a number."""

SETS: dict[str, MetricSet] = {
    DEFAULT: MetricSet(
        "What is measured unless something else is asked for; one metric under four erasers.",
        (
            "comprehensiveness",
            "sufficiency",
            "decision-flip",
            "log-odds",
            "prediction-agreement",
            "comprehensiveness(eraser=delete)",
            "comprehensiveness(eraser=mask)",
            "comprehensiveness(eraser=pad_attn)",
            *_EVIDENCE,
        ),
    ),
    OF_NUMBERS: MetricSet(
        "What is measured by default of models that give a number: how far it falls, under three erasers.",
        (
            "aopc(cumulative=true)",
            "aopc(cumulative=true, eraser=mask)",
            "aopc(cumulative=true, eraser=pad_attn)",
            "leave-one-out-tau",
            *_EVIDENCE,
        ),
    ),
    "models": MetricSet(
        "For comparing models: an AOPC relative to what each model allows, beside the usual ones.",
        ("normalised-aopc", "comprehensiveness", "sufficiency", "decision-flip", *_EVIDENCE),
    ),
    "eraser": MetricSet(
        "As the ERASER benchmark measures: plain differences over five bins, and average precision.",
        (
            "comprehensiveness(preset=eraser)",
            "sufficiency(preset=eraser)",
            "rationale-average-precision(preset=eraser)",
        ),
    ),
    "ferret": MetricSet(
        "As the library ferret measures: ten bins of positive words, and a correlation with leaving out.",
        (
            "comprehensiveness(preset=ferret)",
            "sufficiency(preset=ferret)",
            "leave-one-out-tau",
            "rationale-average-precision(preset=ferret)",
            "rationale-f1(preset=ferret)",
            "rationale-iou(preset=ferret)",
        ),
    ),
    "saloss": MetricSet(
        "As SaLoss measures: the share of words until the decision flips.", ("decision-flip(preset=saloss)",)
    ),
    "regex": MetricSet(
        "As REGEX measures: normalised differences over five bins.",
        ("comprehensiveness(preset=regex)", "sufficiency(preset=regex)"),
    ),
    "scc": MetricSet(
        "As SCC measures: the fall without 10 and without 5 words, and the class by 4 words alone; beside it a fall "
        "that compares models, whether masks leak the label, and decisions without and with the mask in place.",
        (
            "aopc(preset=scc)",
            "aopc(preset=scc-5)",
            "post-hoc-accuracy",
            "normalised-aopc",
            "position-leak",
            "position-leak(words=top-k)",
            "accuracy",
            "masked-accuracy",
        ),
    ),
    "l2e": MetricSet(
        "As L2E measures: agreement, log-odds, stability among similar documents, overlap with people.",
        (
            "prediction-agreement",
            "log-odds",
            "log-odds(words=positive)",
            "log-odds(words=negative)",
            "stability",
            "stability(neighbours=semantic)",
            "rationale-precision",
            "rationale-recall",
            "rationale-f1",
        ),
    ),
    "smat": MetricSet(
        "As SMaT measures: agreement with people by rankings.",
        ("rationale-auc", "rationale-average-precision", "rationale-recall-at-k"),
    ),
}
