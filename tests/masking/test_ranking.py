"""Ranking: places, ties, and how many words a share is."""

import math

import numpy as np
import pytest
import torch

from veridical.masking.ranking import places, share, share_rounded_down, top


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
