"""Predicting: labels, probabilities and numbers, past bad examples, for every kind of model."""

import pytest

from veridical import Classifier, Engine, Example, load_data, predict
from veridical.core.errors import InputError, ModelError
from veridical.core.progress import Watch
from veridical.run.job import Failure
from veridical.run.predict import predict_each
from veridical.testing import Formula, image_classifier, pair_classifier


def test_predicting_goes_on_past_bad_examples(classifier):
    results = list(
        predict_each(classifier, [Example("a", {"text": "x"}), Example("b", {}), Example("c", {"text": "y"})])
    )
    assert [type(result).__name__ for result in results] == ["Prediction", "Failure", "Prediction"]


def test_predictions():
    formula = Formula.linear({"good": 2.0})
    (made,) = predict(formula, ["good"])
    assert made.labels == ("yes",)
    assert made.probabilities == pytest.approx({"no": 0.119203, "yes": 0.880797}, abs=1e-6)
    assert predict(formula, []) == []


def test_a_regression_gives_a_number():
    model = Classifier.load(lambda texts: [len(text) * 0.5 for text in texts])
    (made,) = predict(model, "four")
    assert (made.labels, made.value, made.probabilities) == (("value",), 2.0, {})


@pytest.mark.parametrize("sample", [pair_classifier, image_classifier], ids=lambda each: each.__name__)
def test_pairs_and_images(sample):
    model, examples = sample()
    found = predict(model, examples)
    assert [each.example_id for each in found] == [example.id for example in examples]
    for each in found:
        assert sum(each.probabilities.values()) == pytest.approx(1)
        assert each.probabilities[each.labels[0]] == max(each.probabilities.values())


def test_the_first_bad_example_raises(classifier):
    with pytest.raises(InputError, match="example b"):
        predict(classifier, [Example("a", {"text": "x"}), Example("b", {})])


def test_many_examples_are_held_a_portion_at_a_time(classifier, monkeypatch):
    monkeypatch.setattr("veridical.run.job._EXAMPLES_AT_ONCE", 4)

    def examples():
        for example in load_data("planted(length=8):test[:20]"):
            taken.append(example.id)
            yield example

    taken, told = [], []
    found = predict_each(classifier, examples(), watch=Watch(told.append))
    assert not isinstance(next(found), Failure)
    assert len(taken) == 5  # a portion, and the one that shows that it is full
    assert len(list(found)) == 19
    assert (told[0].done, told[-1].done) == (0, 20)


def test_a_service_that_dies_is_not_asked_about_everything(service):
    service.calls_left = 1
    found, model = [], service.classifier()
    with pytest.raises(ModelError, match="failed for 5 examples in a row.* those before them are predicted"):
        found.extend(predict_each(model, load_data("planted(length=8):test[:200]")))
    made = [each for each in found if not isinstance(each, Failure)]
    assert len(made) == len(found) - 5 > 0
    assert service.asked < 20


def test_the_engine_counts_what_was_run(classifier):
    engine = Engine()
    predict(classifier, ["a good day", "a good day", "a bad day"], engine)
    assert (engine.cost.queries, engine.cost.forwards, engine.cost.backwards) == (3, 2, 0)


def test_a_multi_label_model_chooses_any_number_of_labels(moods):
    several, none = predict(moods, ["a happy and furious day", "a day"])
    assert several.labels == ("anger", "joy")
    assert several.probabilities == pytest.approx({"anger": 0.9, "joy": 0.9, "news": 0.2})
    assert (none.labels, none.value) == ((), None)
