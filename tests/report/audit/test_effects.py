"""Effect sizes by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veridical.report.audit.effects import cohen, rank_biserial


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.1, 0.2, 0.3], 1.0),
        ([-0.1, -0.2], -1.0),
        ([0.1, 0.2, -0.3], 0.0),  # ranks 1 + 2 - 3
        ([0.1, 0.2, 0.3, -0.4, 0.0, math.nan], 0.2),  # ranks (1 + 2 + 3 - 4) / 10
        ([0.0, 0.0], 0.0),
    ],
)
def test_rank_biserial(differences: list[float], expected: float) -> None:
    assert rank_biserial(np.array(differences)) == pytest.approx(expected)


def test_cohen_is_in_standard_deviations_of_the_differences() -> None:
    assert cohen(np.array([1.0, 2.0, 3.0, math.nan])) == pytest.approx(2.0)
    assert cohen(np.array([-1.0, -2.0, -3.0])) == pytest.approx(-2.0)


def test_equal_differences_have_an_infinite_effect_or_none() -> None:
    assert cohen(np.full(3, 0.1)) == math.inf
    assert cohen(np.array([0.2 - 0.3, 0.1 - 0.2])) == -math.inf  # they differ by rounding only
    assert cohen(np.zeros(3)) == 0


def test_one_difference_has_no_effect_size() -> None:
    assert math.isnan(cohen(np.array([0.5])))
