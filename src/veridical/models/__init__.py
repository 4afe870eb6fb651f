"""Classifiers behind one interface: Hugging Face texts, pairs and images, and any callable.

Only this package knows of sub-tokens, special tokens, padding and windows; outside it there are units.
"""

from veridical.models.batch import Batch, Output, PassOptions, Rows
from veridical.models.classifier import Ability, Classifier, Task

__all__ = ["Ability", "Batch", "Classifier", "Output", "PassOptions", "Rows", "Task"]
