import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from veridical.core.example import PAIR, TEXT, Example, Unit
from veridical.masking import Case
from veridical.metrics import RationaleAUC, judge
from veridical.metrics.rationale_auc import auc
from veridical.testing import check_metric, pair_classifier


def test_known_numbers(marked_case, scores_of):
    scores = scores_of([0.4, 0.3, 0.1, 0.15, 0.05], [0.5, 0.5, 0.2, 0.1])
    found = judge(RationaleAUC(), marked_case("10100", "1010"), scores).values
    assert found.tolist() == pytest.approx([2 / 3, 0.625])


def test_as_scikit_learn_has_it():
    chance = np.random.RandomState(0)
    for size in range(2, 60):
        gold, scores = np.arange(size) % 3 == 0, chance.randint(-4, 5, size) / 3  # many ties
        found = auc(torch.tensor(scores), torch.tensor(gold))
        assert found == pytest.approx(roc_auc_score(gold, scores))


def test_undefined_unless_some_words_are_marked_and_some_are_not(marked_case):
    found = judge(RationaleAUC(), marked_case("111", "000", "010"), torch.tensor([[1.0, 2.0, 3.0]] * 3)).values
    assert found.isnan().tolist() == [True, True, False]


def test_source_and_target_apart():
    classifier, _ = pair_classifier()
    evidence = (Unit(TEXT, (0, 2), "ab"), Unit(PAIR, (3, 5), "de"))
    case = Case.bind(classifier, [Example("1", {TEXT: "ab cd", PAIR: "cd de fg"}, evidence=evidence)])
    scores = torch.tensor([[0.9, 0.1, 0.5, 0.3, 0.2]])
    fields = ("all", "text", "text_pair")
    found = [float(judge(RationaleAUC(field=field), case, scores).values) for field in fields]
    assert found == pytest.approx([5 / 6, 1.0, 0.5])


def test_contract():
    check_metric(RationaleAUC())
    check_metric(RationaleAUC(field="text_pair"), pair_classifier)
