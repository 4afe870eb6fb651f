"""Prediction agreement: the words of the explanation alone."""

import torch

from veridical.metrics import METRICS, PredictionAgreement, measure

LABELS = PredictionAgreement(words="high-positive")


def needs(*words):
    """Says yes to texts with all of these words."""
    return lambda seen: 0.9 if set(words) <= seen else 0.1


def agreement(metric, case, scores):
    return measure(metric, case, torch.tensor([scores])).values.item()


def test_the_first_third_rounded_up(case_of):
    case = case_of("abcd", needs("a", "b"), target="predicted")  # 0.3 of four words are two
    assert agreement(PredictionAgreement(), case, [2.0, 1.0, 0.0, 0.0]) == 1
    assert agreement(PredictionAgreement(), case, [2.0, 0.0, 1.0, 0.0]) == 0


def test_high_positive_words(case_of):
    case = case_of("abcd", needs("a", "b"), target="predicted")
    assert agreement(LABELS, case, [5.0, 4.0, 0.1, -3.0]) == 1
    assert agreement(LABELS, case, [5.0, 1.0, 0.1, -3.0]) == 0  # the mean is above the second


def test_low_positive_words_where_none_is_high(case_of):
    case = case_of("abcd", needs("a", "b"), target="predicted")
    assert agreement(LABELS, case, [2.0, 2.0, -1.0, 0.0]) == 1


def test_undefined_where_all_words_or_none_are_kept(case_of):
    case = case_of("abcd", needs("a"), target="predicted")
    for scores in ([-1.0, 0.0, -2.0, -3.0], [1.0, 1.0, 1.0, 1.0]):
        found = measure(LABELS, case, torch.tensor([scores]))
        assert found.values.isnan().all()
        assert found.details["class"].isnan().all()


def test_the_class_is_told_so_that_methods_can_be_compared(case_of):
    case = case_of("abcd", needs("a"), ["abcd", "bcd"], target="predicted")
    found = measure(PredictionAgreement(), case, torch.tensor([[0.0, 1.0, 2.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
    assert found.values.tolist() == [0, 1]
    assert found.details["class"].tolist() == [0, 0]


def test_presets():
    assert METRICS.create("prediction-agreement(preset=l2e-labels)") == LABELS
