"""One fit loop for every objective, on the Hugging Face Trainer: `veridical.training.fit`."""

# Only the schedule is here: the command line shows its options, and must not wait for torch to do so.
from veridical.training.schedule import Schedule

__all__ = ["Schedule"]
