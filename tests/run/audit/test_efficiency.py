"""What an explanation costs: counted without the prediction and without warming up."""

import pytest

from veridical import Example
from veridical.explainers import EXPLAINERS
from veridical.run.audit.efficiency import efficiency
from veridical.testing import Formula

MODEL = Formula.linear({"good": 2.0, "bad": -1.0, "day": 0.1})
EXAMPLES = [Example("0", {"text": "good day"}), Example("1", {"text": "bad day good day"})]


@pytest.mark.parametrize(
    ("method", "forwards", "backwards"),
    [("occlusion", 3.0 + 1.0, 0.0), ("gradient", 1.0, 1.0), ("random", 0.0, 0.0)],
)
def test_passes_per_document(method, forwards, backwards):
    found = efficiency(MODEL, EXAMPLES, EXPLAINERS.create(method))
    assert (found["forwards"], found["backwards"]) == (forwards, backwards)
    assert found["seconds"] > 0
