"""Scores from explanations: kept small, and told apart by everything that a metric could depend on."""

from dataclasses import replace

import numpy as np
import pytest

from veridical import Classifier, Example, explain
from veridical.audits.explanations import (
    MethodScores,
    ScoredDocument,
    leave_out_misfits,
    model_itself,
    model_text,
)
from veridical.core.files import spec_key
from veridical.core.values import Image, Unit
from veridical.run.handle import ModelHandle
from veridical.testing import image_classifier


def model(name="mine"):
    return Classifier.load(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts], name=name)


EXAMPLE = Example("0", {"text": "good day naïve"}, "x", evidence=(Unit("text", (0, 4), "good"),))


@pytest.fixture
def made():
    (explanation,) = explain(model(), [EXAMPLE], "occlusion")
    return explanation


def kept(explanation, example=EXAMPLE, name="mine"):
    described = model_text(ModelHandle.of(model(name)))
    return ScoredDocument.of(explanation, example, spec_key(explanation.spec), described, example.id)


def test_an_explanation_comes_back_as_it_was(made):
    noted = replace(made, margins=(0.1, 1 / 3, 0.0), measures={"queries": 3.0, "residual": float("inf")})
    for explanation in (made, noted, replace(made, probabilities={}, label=0.5), replace(made, label=("x", "y"))):
        assert kept(explanation).explanation(EXAMPLE, explanation.spec) == explanation


def test_an_image_is_not_kept_again_with_each_explanation():
    classifier, examples = image_classifier()
    (explanation,) = explain(classifier, examples[:1], "gradient")
    huge = Example("0", {"image": Image(np.random.default_rng(0).integers(0, 256, (200, 200, 3)))})
    scored = ScoredDocument.of(replace(explanation, inputs=huge.inputs), huge, "key", "model", "0")
    assert scored.explanation(huge, explanation.spec) == replace(explanation, inputs=huge.inputs)
    assert len(scored.packed) < 2000


def test_long_texts_take_little_memory():
    units = tuple(Unit("text", (6 * place, 6 * place + 5), "words") for place in range(1000))
    text = "words " * 1000
    (short,) = explain(model(), ["a good day"], "occlusion")
    scores = tuple(np.random.default_rng(0).normal(size=1000))
    explanation = replace(short, inputs={"text": text}, units=units, scores=scores)
    scored = kept(explanation, Example("0", {"text": text}))
    assert len(scored.packed) + scored.scores.nbytes < 40 * 1000  # as objects, units alone take some 300 bytes each
    assert scored.explanation(Example("0", {"text": text}), explanation.spec) == explanation


def test_the_same_has_the_same_content(made):
    assert kept(made).content == kept(replace(made, label="y", measures={})).content


def test_other_scores_evidence_or_models_have_other_contents(made):
    human = replace(made, source="human", spec={"method": {"name": "human"}})
    marked = replace(EXAMPLE, evidence=(Unit("text", (5, 8), "day"),))
    found = [
        kept(made),
        kept(replace(made, scores=(1.0, 2.0, 3.0))),
        kept(replace(made, target="another")),
        kept(made, marked),
        kept(human),
        kept(human, name="another"),
    ]
    assert len({each.content for each in found}) == len(found)


def method(name, *documents):
    return MethodScores(name, {}, {(each.target[0], each.target): each for each in documents})


def scored(target, units):
    """The scores of the example that the target's first letter names."""
    return ScoredDocument(target[0], target, np.ones(units), "content", 1.0, 0.5, False)


def test_explanations_of_another_target_or_other_units_are_left_out():
    floor = method("random", scored("a yes", 3), scored("b no", 2))
    other = MethodScores("lime", {}, {("a", "no"): scored("no", 3), ("b", "b no"): scored("b no", 5)})
    both = MethodScores("lrp", {}, {("a", "no"): scored("no", 3), ("a", "a yes"): scored("a yes", 3)})
    reasons = {}
    leave_out_misfits([floor, other, both], floor, reasons)
    assert (len(floor.scored), other.scored, list(both.scored)) == (2, {}, [("a", "a yes")])
    assert reasons == {
        "a": {
            "lime": "lime explains 'no', but 'a yes' is judged. "
            "Audit with the `target` that the explanations were made for."
        },
        "b": {
            "lime": "lime has 5 scores for 2 units. "
            "Load the model with the `units` that the explanations were made with."
        },
    }


def test_explanations_of_some_labels_of_an_example_are_judged_as_far_as_they_go():
    judged = {("a", "x"): scored("x", 3), ("a", "y"): scored("y", 3)}
    floor = MethodScores("random", {}, dict(judged))
    part = MethodScores("lime", {}, {("a", "x"): scored("x", 3)})
    other = MethodScores("lrp", {}, {("a", "x"): scored("x", 3), ("a", "z"): scored("z", 3)})
    more = MethodScores("file", {}, {**judged, ("a", "z"): scored("z", 3)})
    reasons = {}
    leave_out_misfits([floor, part, other, more], floor, reasons)
    assert [list(each.scored) for each in (part, other, more)] == [[("a", "x")], [("a", "x")], list(judged)]
    assert list(reasons["a"]) == ["lrp"]
    assert "lrp explains 'z', but 'x', 'y' are judged" in reasons["a"]["lrp"]


def test_where_the_model_cannot_be_asked_nothing_is_judged():
    floor, other = method("random", scored("a yes", 3)), method("lime", scored("a yes", 3), scored("b no", 2))
    reasons = {"b": {"random": "it has no label"}}
    leave_out_misfits([floor, other], floor, reasons)
    assert list(other.scored) == [("a", "a yes")]
    assert reasons == {"b": {"random": "it has no label", "lime": "it has no label"}}


def test_the_model_itself_does_not_depend_on_scores(made):
    contents = set()
    for scores in (made.scores, (9.0, 9.0, 9.0)):
        methods = [MethodScores("occlusion", {}, {("0", made.target): kept(replace(made, scores=scores))})]
        (found,) = model_itself(methods, [EXAMPLE], ModelHandle.of(model())).scored.values()
        assert not found.scores.any()
        contents.add(found.content)
    assert len(contents) == 1
