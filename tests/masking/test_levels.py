"""Levels: which words speak strongly, weakly or not at all."""

import pytest
import torch

from veridical.masking.levels import HIGH, LOW, LOW_POSITIVE, MEDIUM, NEUTRAL, levels, levels_without_sign


def live(*counts, width=6):
    return torch.arange(width) < torch.tensor(counts)[:, None]


def test_five_levels_lie_around_the_means_of_each_sign():
    scores = torch.tensor([[0.8, 0.2, 0.05, 0.0, -0.1, -0.5]])  # the means are 0.35 and -0.3
    assert levels(scores, live(6)).tolist() == [[4, 3, 3, 2, 1, 0]]


@pytest.mark.parametrize("factor", [0.25, 3.0, 1e4])
def test_scaling_changes_nothing(factor):
    scores = torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(levels(factor * scores, live(*[6] * 20)), levels(scores, live(*[6] * 20)))


def test_a_word_alone_with_its_sign_is_its_own_mean_and_so_low():
    assert levels(torch.tensor([[0.7, -0.1, -0.2, 0, 0, 0]]), live(6))[0, 0] == LOW_POSITIVE


def test_words_that_are_alike_are_all_low():
    for value in (0.1, 1 / 3, 0.7):
        found = levels(torch.full((1, 6), value), live(6))
        assert (found == LOW_POSITIVE).all(), value


def test_slots_without_a_word_are_neutral_and_not_counted():
    scores = torch.tensor([[0.8, 0.2, 9.0, 9.0, -9.0, -9.0]])
    found = levels(scores, live(2))
    assert found[0, :2].tolist() == [4, 3]
    assert (found[0, 2:] == NEUTRAL).all()


def test_documents_are_judged_by_their_own_means():
    scores = torch.tensor([[0.8, 0.2, 0, 0, 0, 0], [80.0, 20.0, 0, 0, 0, 0]])
    found = levels(scores, live(6, 6))
    assert torch.equal(found[0], found[1])


def test_three_levels_lie_a_standard_deviation_around_the_mean():
    scores = torch.tensor([[1.0, 2.0, 3.0, 4.0, 10.0, 99.0]])  # the mean of five is 4, their deviation 3.16
    assert levels_without_sign(scores, live(5)).tolist() == [[MEDIUM, MEDIUM, MEDIUM, MEDIUM, HIGH, LOW]]
    assert levels_without_sign(torch.tensor([[0.0, 9, 10, 10, 10, 11]]), live(6))[0, 0] == LOW
