"""Sets of metrics by name: what is measured unless something else is asked for, and what others measure, as they do."""

from __future__ import annotations

_EVIDENCE = ("rationale-auc", "rationale-f1", "reasons-on-top")

PRESETS: dict[str, tuple[str, ...]] = {
    "default": (
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
    "models": ("normalised-aopc", "comprehensiveness", "sufficiency", "decision-flip", *_EVIDENCE),
    "eraser": (
        "comprehensiveness(preset=eraser)",
        "sufficiency(preset=eraser)",
        "rationale-average-precision(preset=eraser)",
    ),
    "ferret": (
        "comprehensiveness(preset=ferret)",
        "sufficiency(preset=ferret)",
        "leave-one-out-tau",
        "rationale-average-precision(preset=ferret)",
        "rationale-f1(preset=ferret)",
        "rationale-iou(preset=ferret)",
    ),
    "saloss": ("decision-flip(preset=saloss)",),
    "regex": ("comprehensiveness(preset=regex)", "sufficiency(preset=regex)"),
    "scc": ("aopc(preset=scc)", "aopc(preset=scc-5)", "post-hoc-accuracy"),
    "l2e": (
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
    "smat": ("rationale-auc", "rationale-average-precision", "rationale-recall-at-k"),
}
