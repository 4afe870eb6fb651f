import numpy as np
import pytest
import torch
from sklearn.metrics import auc as area
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

from veridical.core.values import PAIR, TEXT, Example, Unit
from veridical.masking import Case
from veridical.metrics import METRICS, RationaleAUC, RationaleAveragePrecision, measure
from veridical.metrics.evidence import auc, average_precision
from veridical.testing import check_metric, pair_classifier


def test_known_numbers(marked_case, scores_of):
    scores = scores_of([0.4, 0.3, 0.1, 0.15, 0.05], [0.5, 0.5, 0.2, 0.1])
    found = measure(RationaleAUC(), marked_case("10100", "1010"), scores).values
    assert found.tolist() == pytest.approx([2 / 3, 0.625])


def test_as_scikit_learn_has_it():
    chance = np.random.RandomState(0)
    for size in range(2, 60):
        gold, scores = np.arange(size) % 3 == 0, chance.randint(-4, 5, size) / 3  # many ties
        found = auc(torch.tensor(scores), torch.tensor(gold))
        assert found == pytest.approx(roc_auc_score(gold, scores))


def test_undefined_unless_some_words_are_marked_and_some_are_not(marked_case):
    found = measure(RationaleAUC(), marked_case("111", "000", "010"), torch.tensor([[1.0, 2.0, 3.0]] * 3)).values
    assert found.isnan().tolist() == [True, True, False]


def test_source_and_target_apart():
    classifier, _ = pair_classifier()
    evidence = (Unit(TEXT, (0, 2), "ab"), Unit(PAIR, (3, 5), "de"))
    case = Case.bind(classifier, [Example("1", {TEXT: "ab cd", PAIR: "cd de fg"}, evidence=evidence)])
    scores = torch.tensor([[0.9, 0.1, 0.5, 0.3, 0.2]])
    fields = ("all", "text", "text_pair")
    found = [float(measure(RationaleAUC(field=field), case, scores).values) for field in fields]
    assert found == pytest.approx([5 / 6, 1.0, 0.5])


def test_contract():
    check_metric(RationaleAUC())
    check_metric(RationaleAUC(field="text_pair"), pair_classifier)


def cases():
    chance = np.random.RandomState(0)
    return [(chance.randint(-4, 5, size) / 3, np.arange(size) % 3 == 1) for size in range(2, 60)]


def test_steps_are_as_scikit_learn_has_them():
    for scores, gold in cases():
        found = average_precision(torch.tensor(scores), torch.tensor(gold))
        assert found == pytest.approx(average_precision_score(gold, scores))


def test_the_ferret_preset_is_what_ferret_computes(marked_case):
    metric = METRICS.create("rationale-average-precision(preset=ferret)")
    for scores, gold in cases()[:24]:
        precision, recall, _ = precision_recall_curve(gold, [max(score, 0) for score in scores])
        case = marked_case("".join(str(int(mark)) for mark in gold))
        found = measure(metric, case, torch.tensor(scores[None]))
        assert float(found.values) == pytest.approx(area(recall, precision))


def test_the_first_words_or_the_last(marked_case):
    found = measure(RationaleAveragePrecision(), marked_case("1100", "0011"), torch.tensor([[4.0, 3.0, 2.0, 1.0]] * 2))
    assert found.values.tolist() == pytest.approx([1.0, (1 / 3 + 2 / 4) / 2])


def test_contract_of_average_precision():
    check_metric(RationaleAveragePrecision())
