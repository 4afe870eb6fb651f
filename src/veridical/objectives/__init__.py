"""Training losses, one per file; each gives named terms that are logged apart and summed."""

from veridical.models import Ability
from veridical.objectives.base import CrossEntropy, Objective, Objectives, Sum
from veridical.objectives.explanation_guided import ExplanationGuided
from veridical.objectives.iba import IBA
from veridical.objectives.l2x import L2X
from veridical.objectives.random_erasure import RandomErasure
from veridical.objectives.rationale import Rationale
from veridical.objectives.regex import Regex
from veridical.objectives.robustness import InputGradient, VirtualAdversarial
from veridical.objectives.saloss import SaLoss
from veridical.objectives.scc import SCC
from veridical.objectives.simcse import SimCSE
from veridical.objectives.vmask import VMask

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
        "scc": SCC,
        "vmask": VMask,
        "l2x": L2X,
        "iba": IBA,
        "simcse": SimCSE,
    },
    required=("needs",),
    abilities=Ability,
)

__all__ = [
    "IBA",
    "L2X",
    "OBJECTIVES",
    "SCC",
    "CrossEntropy",
    "ExplanationGuided",
    "InputGradient",
    "Objective",
    "RandomErasure",
    "Rationale",
    "Regex",
    "SaLoss",
    "SimCSE",
    "Sum",
    "VMask",
    "VirtualAdversarial",
]
