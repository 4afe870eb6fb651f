"""Rationales from scores, by hand."""

import pytest

from veridical.core.rationale import chosen, joined
from veridical.core.values import Unit, share

SCORES = [0.05, 0.30, 0.10, 0.02, 0.25, 0.20, 0.03, 0.05]


def test_the_highest_words_and_the_best_run():
    assert chosen(SCORES, 0.2) == [1, 4]
    assert chosen(SCORES, 0.2, "contiguous") == [4, 5]


@pytest.mark.parametrize("shape", ["top-k", "contiguous"])
def test_the_whole_text_is_kept_with_ratio_one(shape):
    assert chosen(SCORES, 1.0, shape) == list(range(8))


def test_words_may_come_in_the_order_of_their_scores():
    assert chosen(SCORES, 0.4, order="score") == [1, 4, 5, 2]
    assert chosen(SCORES, 0.4, order="text") == [1, 2, 4, 5]


@pytest.mark.parametrize("shape", ["top-k", "contiguous"])
def test_the_first_of_equals_is_taken(shape):
    assert chosen([0.1] * 10, 0.2, shape) == [0, 1]
    assert chosen([0.1 * 3, 0.1 + 0.2, 0.0], 0.3, "contiguous") == [0]


@pytest.mark.parametrize("shape", ["top-k", "contiguous"])
def test_negative_scores_and_texts_of_one_word(shape):
    assert chosen([-3.0, -1.0, -2.0], 0.1, shape) == [1]
    assert chosen([-3.0], 0.1, shape) == [0]
    assert chosen([], 0.1, shape) == []


@pytest.mark.parametrize(("ratio", "units", "count"), [(0.15, 1, 1), (0.15, 20, 3), (0.15, 256, 39), (0.1, 30, 3)])
def test_shares_are_rounded_up_but_not_by_dust(ratio, units, count):
    assert share(ratio, units) == count


def test_words_that_touch_still_do():
    text = "Don't miss it, ever."
    units = [Unit("text", span, text[slice(*span)]) for span in ((0, 3), (3, 5), (11, 13), (13, 14))]
    assert joined(units) == "Don't it,"
    assert joined(units[1:3]) == "'t it"
    assert joined([]) == ""
