"""One fit loop for every objective, on the Hugging Face Trainer."""

from veridical.training.fit import Fitted, fit
from veridical.training.schedule import Schedule

__all__ = ["Fitted", "Schedule", "fit"]
