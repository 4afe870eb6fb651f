"""Ranking: places, ties, and how many words a share is."""

import math

import numpy as np
import pytest
import torch

from veridical.core import rationale
from veridical.masking.erasure import (
    LOW_POSITIVE,
    NEUTRAL,
    given_levels,
    levels,
    places,
    share,
    share_rounded_down,
    top,
)


def test_the_highest_score_comes_first():
    scores = torch.tensor([[0.1, -2.0, 3.0, 0.5]])
    assert places(scores, torch.ones(1, 4).bool()).tolist() == [[2, 3, 0, 1]]


def test_equal_scores_keep_their_order_in_the_text():
    scores = torch.tensor([[1.0, 2.0, 1.0, 2.0, 1.0]])
    assert places(scores, torch.ones(1, 5).bool()).tolist() == [[2, 0, 3, 1, 4]]


def test_slots_without_a_word_come_last_whatever_is_in_them():
    scores = torch.tensor([[-1.0, -2.0, 99.0, 0.0]])
    live = torch.tensor([[True, True, False, False]])
    assert places(scores, live)[0, :2].tolist() == [0, 1]


def test_shares_of_twenty_words():
    found = [int(share(ratio, torch.tensor([20]))[0]) for ratio in (0.01, 0.05, 0.1, 0.2, 0.5)]
    assert found == [1, 1, 2, 4, 10]


@pytest.mark.parametrize("percent", [1, 2, 5, 10, 20, 25, 30, 50, 70, 100])
def test_shares_are_rounded_up_without_floating_dust(percent):
    units = torch.arange(1, 600)
    expected = [max(1, -(-percent * n // 100)) for n in units.tolist()]  # in whole numbers
    assert share(percent / 100, units).tolist() == expected


@pytest.mark.parametrize("ratio", [1e-12, 0.07, 0.15, 1 / 3, 0.999999999999, 1.0])
def test_metrics_and_rationales_count_alike(ratio):
    units = torch.arange(0, 300)
    assert share(ratio, units).tolist() == [rationale.share(ratio, number) for number in range(300)]
    assert share(ratio, units).dtype == torch.long


def test_shares_rounded_down_are_those_of_ferret():
    units = torch.arange(0, 600)
    for ours, theirs in zip((0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), np.arange(0.1, 1.1, 0.1), strict=True):
        exact = [math.floor(round(10 * ours) * n / 10) for n in units.tolist()]
        assert share_rounded_down(ours, units).tolist() == exact
        assert [int(theirs * n) for n in units.tolist()] == exact


def test_the_first_words_for_several_counts_at_once():
    place = torch.tensor([[2, 0, 1]])
    found = top(place, torch.tensor([[0, 1, 2, 9]]))
    assert found.int().tolist() == [[[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 1]]]


def live(*counts, width=6):
    return torch.arange(width) < torch.tensor(counts)[:, None]


def test_levels_that_are_given_stay_what_they_are():
    scores = torch.tensor([[2.0, 2.0, 0.0, -2.0, -1.0, 1.0]])
    assert given_levels(scores).tolist() == [[4, 4, 2, 0, 1, 3]]
    # Cut again, they differ only where all words of a sign are high.
    every = torch.cartesian_prod(*[torch.arange(-2.0, 3.0)] * 4)
    for one, again in zip(given_levels(every), levels(every, torch.ones_like(every, dtype=torch.bool)), strict=True):
        for high, low in ((4, 3), (0, 1)):
            if (one == high).any() and (one == low).any():
                assert torch.equal(one == high, again == high)
            assert torch.equal((one == high) | (one == low), (again == high) | (again == low))


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
