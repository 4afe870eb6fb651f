"""Log-odds: how far they fall without the words of the explanation."""

import math

import pytest
import torch

from veridical.core.values import TEXT, Example
from veridical.masking import Case
from veridical.metrics import LogOdds, measure
from veridical.models import Classifier
from veridical.testing import Formula


def fall(metric, case, scores):
    return measure(metric, case, torch.tensor([scores])).values.item()


@pytest.mark.parametrize(("before", "after", "expected"), [(0.9, 0.6, 1.791759), (0.99, 0.14, 6.410410)])
def test_known_numbers(case_of, before, after, expected):
    case = case_of("abc", lambda seen: before if len(seen) == 3 else after)
    assert fall(LogOdds(), case, [1.0, 0.0, 0.0]) == pytest.approx(expected, abs=1e-6)


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


def test_sure_models_are_told_apart_exactly():
    # The odds fall by a third. Single-precision probabilities, .999998 and .999997, would say .386 instead of .405.
    before, after = -math.log(2e-6 / (1 - 2e-6)), -math.log(3e-6 / (1 - 3e-6))
    model = Formula({"a": 1.0, "b": 0.0, "c": 0.0}, lambda x: _logits(x, before, after).float())
    case = Case.bind(model, [Example("0", {TEXT: "a b c"})])
    assert fall(LogOdds(), case, [1.0, 0.0, 0.0]) == pytest.approx(before - after, abs=2e-6)


def _logits(words, before, after):
    sure = torch.where(words[:, 0] > 0, before, after)
    return torch.stack([torch.zeros_like(sure), sure], 1)


def test_every_other_class_counts_against_the_target():
    shares = torch.tensor([0.5, 0.2, 0.2, 0.1], dtype=torch.double)
    model = Formula({"a": 1.0, "b": 0.0}, lambda x: shares.log() * x.sum(1, keepdim=True), labels="wxyz")
    case = Case.bind(model, [Example("0", {TEXT: "a b"})], target="w")
    assert fall(LogOdds(), case, [1.0, 0.0]) == pytest.approx(-math.log(0.25 / 0.75), abs=1e-5)


def test_a_label_among_several_has_odds_of_its_own():
    def says(texts):
        return [[0.9, 0.3] if "good" in text else [0.6, 0.8] for text in texts]

    model = Classifier.load(says, labels=["fun", "art"], multi_label=True, name="two labels")
    case = Case.bind(model, [Example("0", {TEXT: "good film"})], target="fun")
    assert fall(LogOdds(), case, [1.0, 0.0]) == pytest.approx(1.791759, abs=1e-5)


def test_certainty_is_clamped(case_of):
    case = case_of("abc", lambda seen: 1 - 1e-12 if len(seen) == 3 else 1e-12)
    most = 2 * math.log((1 - 1e-6) / 1e-6)
    assert fall(LogOdds(), case, [1.0, 0.0, 0.0]) == pytest.approx(most, abs=1e-5)


def test_directions():
    assert LogOdds().greater_is_better
    assert LogOdds(words="positive").greater_is_better
    assert not LogOdds(words="negative").greater_is_better
