"""Planted data and a model that has found the keywords: the truth beats chance, and chance beats the reverse."""

import pytest
import torch

from veridical.data import load
from veridical.explainers import Random
from veridical.masking import Case
from veridical.metrics import METRICS, measure

ERASURE = [
    "aopc(words=1)",
    "aopc(words=3, cumulative=true)",
    "comprehensiveness",
    "comprehensiveness(preset=eraser)",
    "comprehensiveness(preset=ferret)",
    "decision-flip",
    "leave-one-out-tau",
    "log-odds",
    "log-odds(words=positive)",
    "log-odds(words=negative)",
    "normalised-aopc(exact=3, beam=2)",
    "post-hoc-accuracy(words=1)",
    "prediction-agreement",
    "prediction-agreement(words=high-positive)",
    "sufficiency",
    "sufficiency(preset=eraser)",
    "sufficiency(preset=ferret)",
]


@pytest.fixture(scope="module")
def case(trained):
    from veridical import Classifier

    return Case.bind(Classifier.load(trained), load("planted(test=80, length=8):test").examples)


def oracle(case):
    """1 for the planted words, and a little below 0 for the others."""
    scores = torch.zeros(case.live.shape)
    for at, (example, units) in enumerate(zip(case.batch.examples, case.batch.units, strict=True)):
        known = [any(unit.overlaps(reason) for reason in example.evidence) for unit in units]
        scores[at, : len(units)] = torch.tensor([1.0 if reason else -0.1 for reason in known])
    return scores


@pytest.mark.parametrize("name", ERASURE)
def test_the_truth_beats_chance_and_chance_beats_the_reverse(name, case):
    metric = METRICS.create(name)
    orders = oracle(case), Random().scores(case).values, -oracle(case)
    means = [measure(metric, case, scores).values.nanmean().item() for scores in orders]
    assert means == sorted(means, reverse=metric.greater_is_better), means
    assert len(set(means)) == 3, means


def test_every_metric_that_erases_and_ranks_is_tried():
    erasing = {name for name in METRICS if hasattr(METRICS.create(name), "eraser") and METRICS[name].ranks}
    assert erasing == {name.split("(")[0] for name in ERASURE}
