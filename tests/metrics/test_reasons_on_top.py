import pytest
import torch

from veridical.data import load
from veridical.masking import Case
from veridical.metrics import ReasonsOnTop, measure
from veridical.metrics.evidence import gold
from veridical.models.new import start
from veridical.testing import check_metric, image_classifier


def test_all_reasons_have_to_be_on_top(marked_case):
    scores = torch.tensor([[4.0, 3.0, 2.0, 1.0]])
    for marks, value, share in (("1100", 1, 1), ("1010", 0, 0.5), ("0011", 0, 0), ("1110", 1, 1)):
        found = measure(ReasonsOnTop(), marked_case(marks), scores)
        assert (found.values.item(), found.details["share"].item()) == (value, share)


def test_a_tie_is_not_on_top(marked_case):
    found = measure(ReasonsOnTop(), marked_case("100", "110"), torch.tensor([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0]]))
    assert found.values.tolist() == [0, 0]
    assert found.details["share"].tolist() == [0, 0.5]


def test_where_all_words_are_reasons_or_none_there_is_nothing_to_tell(marked_case):
    found = measure(ReasonsOnTop(), marked_case("11", "00"), torch.tensor([[2.0, 1.0]] * 2))
    assert found.values.isnan().all()
    assert found.details["share"].isnan().all()


@pytest.mark.parametrize("name", ["planted(train=4)", "planted-images(train=4)"])
def test_on_planted_data_the_truth_is_on_top_and_its_reverse_is_not(name):
    data = load(f"{name}:train")
    case = Case.bind(start("tiny", data.examples, data.labels), data.examples)
    truth = gold(case).float()
    assert measure(ReasonsOnTop(), case, truth).values.tolist() == [1] * 4
    assert measure(ReasonsOnTop(), case, -truth).values.tolist() == [0] * 4


def test_contract():
    check_metric(ReasonsOnTop())
    check_metric(ReasonsOnTop(), image_classifier)
