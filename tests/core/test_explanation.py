"""An explanation refuses numbers that do not belong to its units, or are none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veridical.core.errors import InputError
from veridical.core.values import Explanation, Image, Unit


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


def made(**changes: object) -> Explanation:
    values = {
        "example_id": "7",
        "inputs": {"text": "good film", "image": Image(np.zeros((4, 6, 3)))},
        "target": "pos",
        "units": (Unit("text", (0, 4), "good"),),
        "scores": (1.0,),
        "probabilities": {"pos": 1.0},
        "source": "lime",
        "spec": {},
    }
    return Explanation(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "unit", [Unit("text", (9, 9), ""), Unit("image", (0, 0, 4, 6), ""), Unit("image", (3, 5, 4, 6), "")]
)
def test_units_lie_within_their_input(unit: Unit) -> None:
    assert made(units=(unit,)).units == (unit,)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"units": (Unit("text", (5, 10), "films"),)},
            "the span of 'films' is .5, 10., which is no part of 9 characters",
        ),
        ({"units": (Unit("text", (4, 0), "good"),)}, "the span of 'good' is .4, 0."),
        ({"units": (Unit("text", (0, 0, 4, 4), "good"),)}, "is no part of 9 characters"),
        ({"units": (Unit("image", (0, 4), ""),)}, "is no part of 4 x 6 pixels"),
        ({"units": (Unit("image", (0, 0, 5, 6), ""),)}, "is no part of 4 x 6 pixels"),
        ({"units": (Unit("text_pair", (0, 4), "good"),)}, "of the input 'text_pair', and there is none of this name"),
        ({"example_id": 7}, "the example_id is 7, and not a text"),
        ({"target": None}, "the target is None, and not a text"),
        ({"label": math.nan}, "the label is nan"),
        ({"label": ["a"]}, "the label is .'a'."),
        ({"probabilities": {"pos": -0.5}}, "the probability of 'pos' is -0.5, and not between 0 and 1"),
        ({"probabilities": {"pos": "1"}}, "of the probabilities, 'pos' is '1', and not a number by name"),
        ({"inputs": {"text": b"good film"}}, "the input 'text' is b'good film', and neither a text nor an image"),
        ({"scores": ("1",)}, "the score of 'good' is '1'"),
    ],
)
def test_values_of_a_wrong_kind_are_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        made(**changes)


def test_numbers_of_numpy_are_numbers() -> None:
    assert made(scores=(np.float32(0.5),), label=np.int64(3), measures={"queries": np.int32(2)}).scores == (0.5,)


def test_an_image_has_two_or_three_dimensions() -> None:
    assert Image(np.zeros((2, 3))).pixels.shape == (2, 3, 1)
    for shape in ((), (4,), (1, 2, 2, 3)):
        with pytest.raises(InputError, match=f"an image has {len(shape)} dimensions"):
            Image(np.zeros(shape))
