import numpy as np
import pytest
import torch
from sklearn.metrics import auc, average_precision_score, precision_recall_curve

from veridical.metrics import METRICS, RationaleAveragePrecision, judge
from veridical.metrics.rationale_average_precision import average_precision
from veridical.testing import check_metric


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
        found = judge(metric, case, torch.tensor(scores[None]))
        assert float(found.values) == pytest.approx(auc(recall, precision))


def test_the_first_words_or_the_last(marked_case):
    found = judge(RationaleAveragePrecision(), marked_case("1100", "0011"), torch.tensor([[4.0, 3.0, 2.0, 1.0]] * 2))
    assert found.values.tolist() == pytest.approx([1.0, (1 / 3 + 2 / 4) / 2])


def test_contract():
    check_metric(RationaleAveragePrecision())
