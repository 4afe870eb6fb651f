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
