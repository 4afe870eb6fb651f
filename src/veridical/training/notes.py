"""What somebody should know of a training beside its figures: few steps, a figure of chance, or that it diverged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from veridical.core.values import Example
from veridical.models import Classifier
from veridical.training.evaluation import chance, main_figure
from veridical.training.processes import processes_started
from veridical.training.schedule import Schedule

ENOUGH = 50
"""The steps below which a new head has hardly begun to learn."""

_SMALL_BATCH = 8


def steps_per_epoch(schedule: Schedule, count: int) -> int:
    """The steps of one pass over so many examples."""
    return math.ceil(count / _examples_per_step(schedule))


def steps_of(schedule: Schedule, count: int) -> int:
    """The steps that a schedule makes on so many examples."""
    return math.ceil(schedule.epochs * steps_per_epoch(schedule, count))


def _examples_per_step(schedule: Schedule) -> int:
    return schedule.batch_size * schedule.accumulate * processes_started()


def few_steps(schedule: Schedule, count: int) -> str | None:
    """A warning of a training that is over before a new head has learned anything, with what to change."""
    steps = steps_of(schedule, count)
    if steps >= ENOUGH:
        return None
    made = f"{steps} step{'s' * (steps != 1)} in {schedule.epochs:g} epoch{'s' * (schedule.epochs != 1)}"
    return (
        f"{count} examples in batches of {_examples_per_step(schedule)} give {made}, and a new head needs {ENOUGH} or "
        f"more. {_advice(schedule, count)}"
    )


SLOWER = "Lower the learning rates, --rate and --head-rate."


def diverged(history: Sequence[Mapping[str, float]]) -> str | None:
    """A warning of a training that was stopped because the last look at the dev split, as it was logged, is no number.

    What was best before is kept.
    """
    last = [line for line in history if "eval_loss" in line][-1]
    if math.isfinite(last["eval_loss"]):
        return None
    return f"training diverged and was stopped at step {last['step']:g}: the dev loss was not a number. {SLOWER}"


def at_chance(
    classifier: Classifier, figures: Mapping[str, float], dev: Sequence[Example], schedule: Schedule, count: int
) -> str | None:
    """A warning of a dev figure that is no better than that of a model which always says the same."""
    name = main_figure(classifier)
    base, margin = chance(classifier, dev)
    if figures[name] > base + margin:
        return None
    few = steps_of(schedule, count) < ENOUGH
    remedy = _advice(schedule, count) if few else "Try more --epochs or another --rate, and look at the labels."
    return (
        f"the dev {name} of {figures[name]:.4f} is not clearly better than {base:.4f}, which a model that always says "
        f"the same has on these {len(dev)} examples. {remedy}"
    )


def _advice(schedule: Schedule, count: int) -> str:
    """The options that give enough steps: small batches first, which cost no more, then more passes."""
    batch = min(schedule.batch_size, _SMALL_BATCH)
    steps = math.ceil(count / (batch * processes_started()))  # of one epoch
    epochs = max(math.ceil(ENOUGH / steps), math.ceil(schedule.epochs))
    accumulate = " --accumulate 1" if schedule.accumulate > 1 else ""
    return f"Try --batch-size {batch} --epochs {epochs}{accumulate}."
