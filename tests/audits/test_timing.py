"""What an explanation costs: counted without the prediction and without warming up."""

import pytest

from veridical import Engine, Example
from veridical.audits.timing import time_method
from veridical.core.progress import Watch
from veridical.run.explain import ExplainJob
from veridical.testing import Formula

MODEL = Formula.linear({"good": 2.0, "bad": -1.0, "day": 0.1})
EXAMPLES = [Example("0", {"text": "good day"}), Example("1", {"text": "bad day good day"})]


@pytest.mark.parametrize(
    ("method", "forwards", "backwards"),
    [("occlusion", 3.0 + 1.0, 0.0), ("gradient", 1.0, 1.0), ("random", 0.0, 0.0)],
)
def test_passes_per_document(method, forwards, backwards):
    found = time_method(ExplainJob.of(MODEL, method, "predicted", Engine(), None), EXAMPLES, Watch())
    assert (found.costs["forwards"], found.costs["backwards"]) == (forwards, backwards)
    assert found.costs["seconds"] > 0


def test_what_it_takes_to_find_out_is_known():
    found = time_method(ExplainJob.of(MODEL, "gradient", "predicted", Engine(), None), EXAMPLES, Watch())
    assert found.spent.forwards == 3 * 2  # the first text warms up; each is predicted and explained
    assert found.spent.backwards == 3
