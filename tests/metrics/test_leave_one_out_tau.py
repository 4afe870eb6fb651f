"""Leave one out: the rank correlation with what each word alone is worth."""

import math
from itertools import combinations

import pytest
import torch

from veridical.metrics import LeaveOneOutTau, measure

WORTH = {"a": 0.4, "b": 0.2, "c": 0.1, "d": -0.1}


def additive(seen):
    return 0.3 + sum(WORTH[word] for word in seen)


def tau(case, scores):
    return measure(LeaveOneOutTau(), case, torch.tensor([scores])).values.item()


def tau_b(one, other):
    """Kendall's tau-b, pair by pair."""
    agree = ties_one = ties_other = pairs = 0
    for i, j in combinations(range(len(one)), 2):
        left, right = one[i] - one[j], other[i] - other[j]
        agree += (left * right > 0) - (left * right < 0)
        ties_one, ties_other, pairs = ties_one + (left == 0), ties_other + (right == 0), pairs + 1
    return agree / math.sqrt((pairs - ties_one) * (pairs - ties_other))


@pytest.mark.parametrize(
    "scores", [[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 1.0, 0.0], [0.0, 5.0, 1.0, 1.0]]
)
def test_pair_by_pair(case_of, scores):
    case = case_of("abcd", additive)
    assert tau(case, scores) == pytest.approx(tau_b(list(WORTH.values()), scores), abs=1e-6)


def test_undefined_where_either_side_is_constant(case_of):
    assert math.isnan(tau(case_of("abcd", additive), [1.0, 1.0, 1.0, 1.0]))
    assert math.isnan(tau(case_of("abcd", lambda seen: 0.7), [4.0, 3.0, 2.0, 1.0]))


def test_rounding_is_no_order(case_of):
    case = case_of("abcd", lambda seen: 0.5 + 1e-9 * len(seen) * ("a" in seen))
    assert math.isnan(tau(case, [4.0, 3.0, 2.0, 1.0]))


def test_shorter_texts_are_judged_by_their_own_words(case_of):
    case = case_of("abcd", additive, ["abcd", "ba"])
    found = measure(LeaveOneOutTau(), case, torch.tensor([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 9.0, -9.0]]))
    assert found.values.tolist() == pytest.approx([1.0, 1.0])
    assert (case.asked - 1).tolist() == [4, 2]


def test_one_word_has_no_order(case_of):
    case = case_of("ab", lambda seen: 0.5 + 0.2 * len(seen), ["ab", "a"])
    found = LeaveOneOutTau()(case, torch.tensor([[2.0, 1.0], [1.0, 0.0]]))
    assert found.values[1].isnan()


def test_the_eraser_is_the_one_that_was_chosen(case_of):
    case = case_of("abcd", additive)
    by_name = measure(LeaveOneOutTau(eraser="delete"), case, torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    assert by_name.values.item() == pytest.approx(-1)
