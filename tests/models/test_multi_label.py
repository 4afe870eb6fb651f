"""Models that give each label a probability of its own: what they are, what their gold labels are, what they choose."""

import math

import pytest
import torch

from veridical import Case, Classifier, Example
from veridical.core.errors import InputError, ModelError, UsageError
from veridical.models import Task
from veridical.models.new import start

LABELS = ("money", "rain", "sport")
EXAMPLES = [
    Example("a", {"text": "the bank lost a goal"}, ("money", "sport")),
    Example("b", {"text": "wet"}, ("rain",)),
    Example("c", {"text": "nothing at all"}, ()),
]


def multi_label(**settings):
    return start("tiny", EXAMPLES, LABELS, seed=0, **settings)


def test_lists_of_labels_make_a_model_of_several_labels():
    classifier = multi_label()
    assert (classifier.task, classifier.is_multi_label, classifier.is_regression) == (Task.LABELS, True, False)
    assert classifier.model.config.problem_type == "multi_label_classification"
    assert start("tiny", [Example("a", {"text": "x"}, "money")], LABELS).task is Task.CLASSES


def test_gold_labels_are_rows_of_0_and_1():
    assert multi_label().gold(EXAMPLES).tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        (("money", "snow"), "example x, field 'label': 'snow' is not a label of this model. It knows: money, rain"),
        (None, "example x, field 'label': the label is None, and not a list of labels. .* may be empty"),
        ("money", "the label is 'money', and not a list of labels"),
        (1.0, "the label is 1.0, and not a list"),
    ],
)
def test_wrong_gold_labels_are_named(label, problem):
    with pytest.raises(InputError, match=problem):
        multi_label().gold([Example("x", {"text": "a"}, label)])


def test_probabilities_stand_for_themselves_and_choose_by_the_threshold():
    classifier = multi_label(threshold=0.7)
    logits = torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.8, 3.0]])
    assert torch.equal(classifier.probabilities(logits), logits.sigmoid())
    assert classifier.chosen(logits).tolist() == [[False, True, False], [True, False, True]]


def test_a_class_is_chosen_alone():
    classifier = start("tiny", [Example("a", {"text": "x"}, "money")], LABELS)
    logits = torch.tensor([[0.0, 2.0, -1.0]])
    assert classifier.chosen(logits).tolist() == [[False, True, False]]
    assert torch.equal(classifier.probabilities(logits), logits.softmax(-1))


def test_it_is_saved_and_loaded_with_its_threshold(tmp_path):
    classifier = multi_label(threshold=0.3)
    classifier.save(tmp_path)
    again = Classifier.load(tmp_path)
    assert (again.is_multi_label, again.threshold, again.labels) == (True, 0.3, LABELS)
    assert again.describe()["task"] == "labels"
    assert Classifier.load(tmp_path, threshold=0.9).threshold == 0.9
    bound = [Case.bind(each, EXAMPLES, target="rain").output.logits for each in (classifier, again)]
    assert torch.equal(*bound)


@pytest.mark.parametrize("threshold", [0, 1, -0.5, 2.0])
def test_a_threshold_beyond_its_limits_is_refused(threshold):
    with pytest.raises(UsageError, match=f"threshold cannot be {threshold}.*more than 0 and less than 1"):
        multi_label(threshold=threshold)


def test_other_models_have_no_threshold():
    with pytest.raises(UsageError, match="only models that may give several labels have a threshold"):
        start("tiny", [Example("a", {"text": "x"}, "money")], LABELS, threshold=0.4)


def black_box(texts):
    return [[0.9 if "bank" in text else 0.1, 1.0 if "wet" in text else 0.0] for text in texts]


def test_a_function_may_give_several_labels():
    classifier = Classifier.load(black_box, labels=["money", "rain"], multi_label=True)
    case = Case.bind(classifier, [Example("1", {"text": "wet bank"}), Example("2", {"text": "dry"})])
    assert [example.id for example in case.batch.examples] == ["1", "1", "2"]
    assert [classifier.target_name(int(target)) for target in case.targets] == ["money", "rain", "money"]
    values = case.scaled(case.output.logits, case.targets, "prob")
    assert values.tolist() == pytest.approx([0.9, 1.0, 0.1], abs=1e-6)
    assert all(math.isfinite(value) for value in case.output.logits.flatten().tolist())
    assert classifier.describe()["task"] == "labels"


def test_its_probabilities_need_not_add_up_but_must_be_probabilities():
    classifier = Classifier.load(lambda texts: [[0.5, 1.5]] * len(texts), labels=["a", "b"], multi_label=True)
    with pytest.raises(ModelError, match=r"gave \[0.5, 1.5\], which are not all between 0 and 1"):
        Case.bind(classifier, [Example("1", {"text": "x"})])
