"""Asking a model about parts of an input: erasers, and the `Case` through which every such question goes."""

from veridical.masking.case import Case, Pieces, Scale
from veridical.masking.engine import Cost, Engine
from veridical.masking.erasure import ERASERS, Eraser, EraserName

__all__ = ["ERASERS", "Case", "Cost", "Engine", "Eraser", "EraserName", "Pieces", "Scale"]
