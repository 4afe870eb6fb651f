import math

import pytest
import torch

from veridical.core.example import PAIR, TEXT, Example, Unit
from veridical.masking import Case
from veridical.metrics import RationaleRecallAtK, judge
from veridical.testing import check_metric, pair_classifier


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 1 / 3), (3, 2 / 3), (5, 1.0), (50, 1.0)])
def test_marked_words_among_the_first(marked_case, k, expected):
    scores = torch.tensor([[5.0, 4.0, 3.0, 2.0, 1.0]])
    assert judge(RationaleRecallAtK(k), marked_case("01101"), scores).values.tolist() == pytest.approx([expected])


def test_without_a_marked_word_it_is_undefined(marked_case):
    assert math.isnan(judge(RationaleRecallAtK(), marked_case("00"), torch.tensor([[1.0, 2.0]])).values)


def test_only_the_words_of_the_field_are_ranked():
    classifier, _ = pair_classifier()
    evidence = (Unit(PAIR, (0, 2), "cd"),)
    case = Case.bind(classifier, [Example("1", {TEXT: "ab", PAIR: "cd ef"}, evidence=evidence)])
    scores = torch.tensor([[0.9, 0.5, 0.2]])
    assert judge(RationaleRecallAtK(1), case, scores).values.tolist() == [0.0]
    assert judge(RationaleRecallAtK(1, field="text_pair"), case, scores).values.tolist() == [1.0]


def test_contract():
    check_metric(RationaleRecallAtK())
