"""A temperature makes a model more or less sure, and changes no decision."""

import pytest
import torch

from veridical import Case, Classifier, Example
from veridical.core.errors import UsageError
from veridical.models.new import start
from veridical.testing.families import SENTENCES, family

EXAMPLES = [Example.of(text, str(index)) for index, text in enumerate(SENTENCES)]


def logits(classifier):
    return Case.bind(classifier, EXAMPLES).output.logits


def test_outputs_are_divided_by_it(any_name):
    torch.testing.assert_close(logits(family(any_name, temperature=4.0)) * 4, logits(family(any_name)))


def test_it_is_saved_and_told_where_it_is_not_the_usual_one(tmp_path):
    family("bert", temperature=2.5).save(tmp_path / "model")
    again = Classifier.load(tmp_path / "model")
    assert (again.temperature, again.describe()["temperature"]) == (2.5, 2.5)
    assert Classifier.load(tmp_path / "model", temperature=1.0).temperature == 1.0
    assert "temperature" not in family("bert").describe()


@pytest.mark.parametrize("wrong", [0, -1.0, float("inf"), float("nan")])
def test_one_beyond_its_limits_is_refused(wrong):
    with pytest.raises(UsageError, match="temperature cannot be .*more than 0"):
        family("bert", temperature=wrong)


def test_only_models_of_one_class_of_several_have_one():
    for label, labels in ((("a",), ("a", "b")), (1.0, ())):
        with pytest.raises(UsageError, match="only models that give one class of several"):
            start("tiny", [Example("x", {"text": "a word"}, label)], labels, temperature=2.0)
