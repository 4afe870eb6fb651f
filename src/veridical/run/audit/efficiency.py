"""What an explanation costs: seconds, forward and backward passes, one document at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from veridical.core.example import Example
from veridical.explainers import Explainer
from veridical.masking import Case
from veridical.masking.engine import Cost
from veridical.models import Classifier


def efficiency(classifier: Classifier, examples: Sequence[Example], explainer: Explainer) -> dict[str, float]:
    """Means per document, without the prediction itself: `seconds` of wall time, `forwards` and `backwards` passes.

    The first document is explained once before the clock starts, so that nobody pays for warming up.
    """
    explainer.scores(Case.bind(classifier, [examples[0]]))
    cost = Cost()
    seconds = 0.0
    for example in examples:
        case = Case.bind(classifier, [example])
        case.engine.cost = Cost()  # binding made the prediction
        _settle(classifier)
        begin = time.perf_counter()
        explainer.scores(case)
        _settle(classifier)
        seconds += time.perf_counter() - begin
        cost.forwards += case.engine.cost.forwards
        cost.backwards += case.engine.cost.backwards
    return {
        "seconds": seconds / len(examples),
        "forwards": cost.forwards / len(examples),
        "backwards": cost.backwards / len(examples),
    }


def _settle(classifier: Classifier) -> None:
    """Wait for what a device still has to do, or the clock would stop too early."""
    if classifier.device.type == "cuda":
        torch.cuda.synchronize(classifier.device)
