"""Training losses, one per file; each gives named terms that are logged apart and summed."""

from veridical.core.registry import Registry
from veridical.objectives.base import Objective
from veridical.objectives.cross_entropy import CrossEntropy

OBJECTIVES: Registry[Objective] = Registry("objective", "veridical.objectives", {"cross-entropy": CrossEntropy})

__all__ = ["OBJECTIVES", "CrossEntropy", "Objective"]
