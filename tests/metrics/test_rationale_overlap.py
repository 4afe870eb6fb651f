"""Precision, recall, F1 and IoU of words picked and words marked."""

import math

import numpy as np
import pytest
import torch

from veridical.core.values import PAIR, TEXT, Example, Unit
from veridical.masking import Case
from veridical.metrics import (
    METRICS,
    RationaleF1,
    RationaleIoU,
    RationalePrecision,
    RationaleRecall,
    RationaleRecallAtK,
    measure,
)
from veridical.testing import Formula, check_metric, pair_classifier

FOUR = (RationalePrecision, RationaleRecall, RationaleF1, RationaleIoU)


def values(metrics, case, scores):
    return [measure(metric, case, scores).values.tolist() for metric in metrics]


def test_known_numbers(marked_case):
    # Marked are 11001000; picked, as their scores lie above the mean of the positive ones, are 10101100.
    scores = torch.tensor([[0.9, 0.1, 0.8, 0.1, 0.8, 0.9, -0.5, 0.0]])
    found = values([metric() for metric in FOUR], marked_case("11001000"), scores)
    assert [each[0] for each in found] == pytest.approx([0.5, 2 / 3, 4 / 7, 0.4])


def test_without_a_high_score_the_low_ones_are_picked(marked_case):
    assert values([RationalePrecision()], marked_case("1100"), torch.tensor([[0.0, 0.5, 0.5, -1.0]])) == [[0.5]]


@pytest.mark.parametrize(
    ("options", "precision", "recall"),
    [
        ({"words": "top", "ratio": 0.3}, 0.5, 1 / 3),  # 2 of 5 words, as 1.5 is rounded up
        ({"words": "top-k", "k": 4}, 0.5, 2 / 3),
        ({"words": "as-many"}, 1 / 3, 1 / 3),
        ({"words": "top-k", "k": 9, "positive": True}, 1 / 3, 1 / 3),
    ],
)
def test_which_words_are_picked(marked_case, options, precision, recall):
    scores = torch.tensor([[3.0, 2.0, 1.0, -1.0, -2.0]])
    found = values([RationalePrecision(**options), RationaleRecall(**options)], marked_case("01011"), scores)
    assert [each[0] for each in found] == pytest.approx([precision, recall])


def test_texts_are_judged_by_themselves(marked_case, scores_of):
    case = marked_case("10", "00011", "00")
    scores = scores_of([1.0, -1.0], [0.0, 0.0, 0.0, 2.0, 1.0], [1.0, 0.0])
    (found,) = values([RationaleRecall()], case, scores)
    assert found == pytest.approx([1.0, 0.5, math.nan], nan_ok=True)


def test_no_evidence_is_undefined_and_no_pick_is_undefined_or_zero(marked_case):
    case, scores = marked_case("00", "10"), torch.tensor([[1.0, 2.0], [-1.0, -2.0]])
    for metric in FOUR:
        assert measure(metric(), case, scores).values.isnan().all()
        assert measure(metric(empty="zero"), case, scores).values[1] == 0


def test_one_word_is_undefined(marked_case):
    assert measure(RationaleF1(), marked_case("1"), torch.tensor([[1.0]])).values.isnan().all()


def test_stop_words_can_be_left_out_of_both_sides():
    text = "the film was great"
    evidence = (Unit(TEXT, (9, 18), "was great"),)
    formula = Formula.linear(dict.fromkeys(text.split(), 1.0))
    case = Case.bind(formula, [Example("1", {TEXT: text}, evidence=evidence)])
    scores = torch.tensor([[3.0, 0.5, 2.0, 2.5]])
    options = {"words": "top-k", "k": 3}
    assert values([RationalePrecision(**options)], case, scores)[0] == pytest.approx([2 / 3])
    assert values([RationalePrecision(**options, stop_words=False)], case, scores) == [[1.0]]
    two = {"words": "top-k", "k": 2}
    assert values([RationaleRecall(**two), RationaleRecall(**two, stop_words=False)], case, scores) == [[0.5], [1.0]]
    only_the = RationaleRecall(words="top-k", k=1, stop_words=False)
    assert math.isnan(values([only_the], case, scores)[0][0])


def test_the_ferret_preset_is_what_ferret_computes(marked_case):
    # Its definition, written out: the 5 highest scores, of these the positive ones; 0 where there is none.
    chance = np.random.RandomState(0)
    for _ in range(30):
        scores, gold = chance.randn(9) - 0.7, chance.randint(0, 2, 9)
        gold[0] = 1
        picked = np.array([int(at in scores.argsort()[-5:] and scores[at] > 0) for at in range(9)])
        both = (picked & gold).sum()
        f1 = 2 * both / (picked.sum() + gold.sum()) if both else 0
        case, tensor = marked_case("".join(map(str, gold))), torch.tensor(scores[None])
        metrics = [METRICS.create(f"{name}(preset=ferret)") for name in ("rationale-f1", "rationale-iou")]
        found = values(metrics, case, tensor)
        assert [each[0] for each in found] == pytest.approx([f1, both / (picked | gold).sum()])


@pytest.mark.parametrize("metric", FOUR)
def test_contract(metric):
    check_metric(metric())


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 1 / 3), (3, 2 / 3), (5, 1.0), (50, 1.0)])
def test_marked_words_among_the_first(marked_case, k, expected):
    scores = torch.tensor([[5.0, 4.0, 3.0, 2.0, 1.0]])
    assert measure(RationaleRecallAtK(k), marked_case("01101"), scores).values.tolist() == pytest.approx([expected])


def test_without_a_marked_word_it_is_undefined(marked_case):
    assert math.isnan(measure(RationaleRecallAtK(), marked_case("00"), torch.tensor([[1.0, 2.0]])).values)


def test_only_the_words_of_the_field_are_ranked():
    classifier, _ = pair_classifier()
    evidence = (Unit(PAIR, (0, 2), "cd"),)
    case = Case.bind(classifier, [Example("1", {TEXT: "ab", PAIR: "cd ef"}, evidence=evidence)])
    scores = torch.tensor([[0.9, 0.5, 0.2]])
    assert measure(RationaleRecallAtK(1), case, scores).values.tolist() == [0.0]
    assert measure(RationaleRecallAtK(1, field="text_pair"), case, scores).values.tolist() == [1.0]


def test_contract_of_recall_at_k():
    check_metric(RationaleRecallAtK())
