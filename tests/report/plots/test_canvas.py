"""Ticks are round numbers inside the range, written with the same digits."""

from __future__ import annotations

import pytest

from veridical.report.plots.canvas import labels, rounded, ticks


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.25, 0.5, 0.75, 1]),
        (0, 0.5, [0, 0.2, 0.4]),
        (-0.1, 0.1, [-0.1, -0.05, 0, 0.05, 0.1]),
        (0, 100, [0, 25, 50, 75, 100]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 17), (0.001, 0.0013), (5, 5), (0, 0), (-2, -2), (1e6, 3e6)])
def test_a_rounded_range_holds_the_numbers_and_is_never_empty(low: float, high: float) -> None:
    under, over = rounded(low, high)
    assert under <= low <= high <= over
    assert over > under
    assert (over - under) <= 2 * max(high - low, abs(low), 1)


def test_an_end_far_from_a_round_number_stays() -> None:
    assert rounded(-0.004, 0.76)[0] == -0.004  # and not -0.2, which would leave a fifth of the plot empty


def test_labels_share_their_digits_and_have_a_real_minus() -> None:
    assert labels([-0.5, 0, 0.25]) == ["\u22120.50", "0.00", "0.25"]
    assert labels([0, 0.2, 0.4], percent=True) == ["0%", "20%", "40%"]
    assert labels([1000, 2000]) == ["1,000", "2,000"]
