"""An explanation refuses numbers that do not belong to its units, or are none."""

from __future__ import annotations

import math

import pytest

from veridical.core.errors import InputError
from veridical.core.values import Explanation, Unit


def explain(scores: tuple[float, ...] = (1.0, -2.0), margins: tuple[float, ...] | None = None) -> Explanation:
    units = (Unit("text", (0, 4), "good"), Unit("text", (5, 9), "film"))
    return Explanation("7", {"text": "good film"}, "pos", units, scores, {}, "lime", {}, margins=margins)


def test_numbers_that_fit_are_taken() -> None:
    assert explain().margins is None
    assert explain(margins=(0.0, 0.5)).margins == (0.0, 0.5)
    assert explain().top(1)[0][0].text == "good"


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ({"scores": (1.0,)}, "1 scores for 2 units"),
        ({"scores": (1.0, math.nan)}, "the score of 'film' is nan"),
        ({"scores": (math.inf, 0.0)}, "the score of 'good' is inf"),
        ({"margins": ()}, "0 margins for 2 units"),
        ({"margins": (0.1, -0.1)}, "the margin of 'film' is -0.1"),
        ({"margins": (math.inf, 0.1)}, "the margin of 'good' is inf"),
        ({"margins": (0.1, math.nan)}, "the margin of 'film' is nan"),
    ],
)
def test_others_are_refused_by_name(numbers: dict[str, tuple[float, ...]], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        explain(**numbers)
