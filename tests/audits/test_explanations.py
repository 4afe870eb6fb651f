"""The explanations of an audit: checked, named, in the file and in memory."""

from dataclasses import replace

import pytest

from veridical import Classifier, Example, explain
from veridical.audits.explanations import AuditExplanations
from veridical.core.errors import InputError
from veridical.core.files import ExplanationWriter, read_all, spec_key
from veridical.run.handle import ModelHandle

MODEL = Classifier.load(lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts], name="mine")
EXAMPLE = Example("0", {"text": "good day"})


@pytest.fixture
def made():
    (explanation,) = explain(MODEL, [EXAMPLE], "occlusion")
    return explanation


@pytest.fixture
def opened(tmp_path):
    """A function that opens the same file each time."""

    def of(*explanations, examples=(EXAMPLE,)):
        with ExplanationWriter(tmp_path / "all.parquet") as writer:
            kept = AuditExplanations(writer, examples, ModelHandle.of(MODEL))
            kept.write(explanations)
        return kept

    return of


def names_of(kept, *explanations, name=None):
    return [method.name for method in kept.methods({spec_key(each.spec): name for each in explanations})]


def test_what_was_written_is_known_at_once_and_later(made, opened, tmp_path):
    key = spec_key(made.spec)
    for kept in (opened(made), opened()):
        assert kept.seen == {("0", key)}
        (method,) = kept.methods({key: "mine", "another": "not there"})
        assert method.name == "mine"
        ((example, scored),) = method.explained([EXAMPLE], {"0": (made.target,)})
        assert scored.explanation(example, method.spec) == made
        assert kept.get("0", key)[made.target].scores.tolist() == list(made.scores)
    assert read_all(tmp_path / "all.parquet") == [made]


def test_explanations_of_other_examples_stay_in_the_file_only(made, opened, tmp_path):
    opened(made)
    kept = opened(examples=[Example("1", {"text": "another"})])
    assert kept.seen == set()
    assert read_all(tmp_path / "all.parquet") == [made]


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
def test_names_of_methods_that_are_not_known_are_those_of_their_source(made, opened, method, name):
    other = replace(made, spec={**made.spec, "method": method})
    assert names_of(opened(other), other) == [name]


def test_equal_names_are_told_apart(made, opened):
    other = replace(made, spec={**made.spec, "data": "reviews:test"})
    first, second = names_of(opened(made, other), made, other)
    assert first == "occlusion"
    assert second == f"occlusion {spec_key(other.spec)[:6]}"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"name": "another"}, "of another model: its hash is another, not mine"),
        ("another", "of another model: its hash is another, not mine"),
        (None, "do not say of which model"),
    ],
)
def test_explanations_of_another_model_are_refused(made, opened, tmp_path, told, words):
    other = replace(made, spec={**made.spec, "model": told})
    with pytest.raises(InputError, match=words):
        opened(other)
    with ExplanationWriter(tmp_path / "all.parquet") as writer:  # the file is free, and may hold anything
        writer.write(other)
    with pytest.raises(InputError, match=words):
        opened()


def test_explanations_of_another_text_are_refused(made, opened):
    with pytest.raises(InputError, match="example 0, field 'text': occlusion explained another text: its hash is"):
        opened(made, examples=[Example("0", {"text": "bad day"})])
