"""Scores from explanations: named, checked, and told apart by everything that a metric could depend on."""

from dataclasses import replace

import pytest

from veridical import Classifier, Example, explain
from veridical.core.errors import InputError
from veridical.core.example import Unit
from veridical.audits.method_scores import checked, gather


def model(name="mine"):
    return Classifier.load(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts], name=name)


EXAMPLE = Example("0", {"text": "good day"}, evidence=(Unit("text", (0, 4), "good"),))


@pytest.fixture
def made():
    (explanation,) = explain(model(), [EXAMPLE], "occlusion")
    return explanation


def content(explanation, example=EXAMPLE, name="mine"):
    (method,) = gather([explanation], [example], model(name))
    return method.scored["0"].content


def test_the_same_has_the_same_content(made):
    assert content(made) == content(replace(made, label="x", measures={}))


def test_other_scores_evidence_or_models_have_other_contents(made):
    human = replace(made, source="human", spec={"method": {"name": "human"}})
    marked = replace(EXAMPLE, evidence=(Unit("text", (5, 8), "day"),))
    found = [
        content(made),
        content(replace(made, scores=(1.0, 2.0))),
        content(made, marked),
        content(human),
        content(human, name="another"),
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ({"name": "occlusion", "eraser": "delete"}, "occlusion(eraser=delete)"),
        ({"name": "occlusion", "since": "a newer version"}, "occlusion"),
        ({"name": "somebody's own"}, "occlusion"),
        ({"name": ["no", "name"]}, "occlusion"),
        ("a word", "occlusion"),
        (None, "occlusion"),
    ],
)
def test_names_of_methods_that_are_not_known_are_those_of_their_source(made, method, name):
    (found,) = gather([replace(made, spec={**made.spec, "method": method})], [EXAMPLE], model())
    assert found.name == name


def test_equal_names_are_told_apart(made):
    other = replace(made, spec={**made.spec, "data": "reviews:test"})
    first, second = gather([made, other], [EXAMPLE], model())
    assert first.name == "occlusion"
    assert second.name.startswith("occlusion ")


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"name": "another"}, "of another model: its hash is another, not mine"),
        ("another", "of another model: its hash is another, not mine"),
        (None, "do not say of which model"),
    ],
)
def test_explanations_of_another_model_are_refused(made, told, words):
    with pytest.raises(InputError, match=words):
        list(checked([replace(made, spec={**made.spec, "model": told})], [EXAMPLE], model()))


def test_explanations_of_another_text_are_refused_and_of_other_examples_passed_over(made):
    with pytest.raises(InputError, match="example 0, field 'text': occlusion explained another text: its hash is"):
        list(checked([made], [Example("0", {"text": "bad day"})], model()))
    assert list(checked([made], [Example("1", {"text": "bad day"})], model())) == [made]
