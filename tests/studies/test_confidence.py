"""A model is made as sure as wanted, and decides as before."""

import math

import pytest
import torch

from veridical.core.values import Example
from veridical.models import Classifier
from veridical.studies.confidence import as_sure, confidence, temperature_for
from veridical.testing.families import family

LOGITS = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)) * 3


def test_two_classes_of_known_odds():
    logits = torch.tensor([[0.0, math.log(9)]])  # odds of 9, and at temperature 2 their root, 3
    assert confidence(logits) == pytest.approx(0.9)
    assert temperature_for(logits, 0.75) == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("wanted", [0.4, 0.6, 0.9, 0.99])
def test_any_confidence_is_reached_from_above_and_from_below(wanted):
    assert confidence(LOGITS / temperature_for(LOGITS, wanted)) == pytest.approx(wanted, abs=1e-3)


def test_a_confidence_out_of_reach_ends_at_the_limits():
    assert temperature_for(LOGITS, 0.2) == 1000.0  # three classes give at least a third
    assert temperature_for(LOGITS, 1.1) == 0.001


def test_a_saved_model_is_made_as_sure(tmp_path):
    family("bert").save(tmp_path / "model")
    examples = [Example(str(index), {"text": text}) for index, text in enumerate(["good film", "a bad one", "so so"])]
    found, before = as_sure(tmp_path / "model", examples, 0.8), Classifier.load(tmp_path / "model")
    rows = before.encode(examples).rows
    with torch.no_grad(), found.evaluating(), before.evaluating():
        logits, plain = found.run(rows).logits, before.run(rows).logits
    assert confidence(logits) == pytest.approx(0.8, abs=1e-3)
    torch.testing.assert_close(logits * found.temperature, plain)
    assert found.describe()["temperature"] == found.temperature
