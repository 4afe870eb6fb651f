"""Log-odds: how far they fall without the words of the explanation."""

import math

import pytest
import torch

from veridical.metrics import LogOdds, measure


def fall(metric, case, scores):
    return measure(metric, case, torch.tensor([scores])).values.item()


@pytest.mark.parametrize(("before", "after", "expected"), [(0.9, 0.6, 1.791759), (0.99, 0.14, 6.410410)])
def test_known_numbers(case_of, before, after, expected):
    case = case_of("abc", lambda seen: before if len(seen) == 3 else after)
    assert fall(LogOdds(), case, [1.0, 0.0, 0.0]) == pytest.approx(expected, abs=1e-5)


def test_which_words_are_masked(case_of):
    says = {"abcd": 0.5, "cd": 0.3, "abd": 0.7, "bcd": 0.2}
    case = case_of("abcd", lambda seen: says.get("".join(sorted(seen)), 0.5))
    scores = [2.0, 1.0, -1.0, 0.0]

    def odds(probability):
        return math.log(probability / (1 - probability))

    assert fall(LogOdds(words="positive"), case, scores) == pytest.approx(-odds(0.3), abs=1e-5)
    assert fall(LogOdds(words="negative"), case, scores) == pytest.approx(-odds(0.7), abs=1e-5)
    assert fall(LogOdds(ratio=0.25), case, scores) == pytest.approx(-odds(0.2), abs=1e-5)


def test_undefined_without_such_words(case_of):
    case = case_of("abc", lambda seen: 0.9)
    assert math.isnan(fall(LogOdds(words="positive"), case, [0.0, -1.0, 0.0]))
    assert math.isnan(fall(LogOdds(words="negative"), case, [0.0, 1.0, 0.0]))
    assert fall(LogOdds(words="positive"), case, [1.0, -1.0, 0.0]) == 0


def test_certainty_is_clamped(case_of):
    case = case_of("abc", lambda seen: 1 - 1e-12 if len(seen) == 3 else 1e-12)
    most = 2 * math.log((1 - 1e-6) / 1e-6)
    assert fall(LogOdds(), case, [1.0, 0.0, 0.0]) == pytest.approx(most, abs=1e-3)


def test_directions():
    assert LogOdds().greater_is_better
    assert LogOdds(words="positive").greater_is_better
    assert not LogOdds(words="negative").greater_is_better
