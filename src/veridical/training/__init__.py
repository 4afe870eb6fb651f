"""One fit loop for every objective, on the Hugging Face Trainer: `veridical.training.fit`."""

# Only settings are here: the command line shows their options, and must not wait for torch to do so.
from veridical.training.schedule import Distillation, Schedule

__all__ = ["Distillation", "Schedule"]
