"""Post-hoc accuracy: the same decision from the first words alone."""

import torch

from veridical.metrics import PostHocAccuracy, measure


def test_the_first_words_alone(case_of):
    case = case_of("abcdef", lambda seen: 0.9 if "a" in seen else 0.2, target="predicted")
    right, wrong = torch.tensor([[9.0, 1, 1, 1, 1, 1]]), torch.tensor([[0.0, 1, 1, 1, 1, 1]])
    assert measure(PostHocAccuracy(), case, right).values.item() == 1
    found = measure(PostHocAccuracy(), case, wrong)
    assert found.values.item() == 0
    assert found.details["class"].item() == 0


def test_all_words_always_agree(case_of, any_model):
    for seed in range(5):
        case = case_of("abcd", any_model("abcd", seed), target="predicted")
        assert measure(PostHocAccuracy(words=4), case, torch.rand(1, 4)).values.item() == 1
        assert measure(PostHocAccuracy(words=9), case, torch.rand(1, 4)).values.item() == 1


def test_the_models_decision_counts_and_not_the_explained_class(case_of):
    case = case_of("abc", lambda seen: 0.9, target="no")
    assert measure(PostHocAccuracy(words=1), case, torch.zeros(1, 3)).values.item() == 1


def test_a_curve_over_numbers_of_words(case_of):
    case = case_of("abcdef", lambda seen: 0.9 if {"a", "b"} <= set(seen) else 0.2, target="predicted")
    scores = torch.tensor([[5.0, 3, 4, 1, 1, 1]])  # a, c, b: both are there from three words on
    found = measure(PostHocAccuracy(words=4, curve=(1, 2, 3, 9)), case, scores)
    assert found.curve.tolist() == [[0, 0, 1, 1]]
    assert found.steps == (1, 2, 3, 9)
    assert found.values.item() == 1
    for words, value in zip((1, 2, 3), (0, 0, 1), strict=True):
        assert measure(PostHocAccuracy(words=words), case, scores).values.item() == value
