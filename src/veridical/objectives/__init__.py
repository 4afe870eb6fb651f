"""Training losses, one per file; each gives named terms that are logged apart and summed."""

from veridical.models import Ability
from veridical.objectives.base import CrossEntropy, Objective, Objectives, Sum
from veridical.objectives.explanation_guided import ExplanationGuided
from veridical.objectives.learned_mask import LearnedMask
from veridical.objectives.random_erasure import RandomErasure
from veridical.objectives.rationale import Rationale
from veridical.objectives.regex import Regex
from veridical.objectives.robustness import InputGradient, VirtualAdversarial
from veridical.objectives.saloss import SaLoss

OBJECTIVES = Objectives(
    "objective",
    "veridical.objectives",
    {
        "cross-entropy": CrossEntropy,
        "saloss": SaLoss,
        "virtual-adversarial": VirtualAdversarial,
        "input-gradient": InputGradient,
        "explanation-guided": ExplanationGuided,
        "regex": Regex,
        "random-erasure": RandomErasure,
        "rationale": Rationale,
        "learned-mask": LearnedMask,
    },
    required=("needs",),
    abilities=Ability,
)

__all__ = [
    "OBJECTIVES",
    "CrossEntropy",
    "ExplanationGuided",
    "InputGradient",
    "LearnedMask",
    "Objective",
    "RandomErasure",
    "Rationale",
    "Regex",
    "SaLoss",
    "Sum",
    "VirtualAdversarial",
]
