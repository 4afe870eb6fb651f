"""Explanations from files and people."""

from dataclasses import replace

import pytest

from veridical import Classifier, Engine, Example
from veridical.audits.explanations import AuditExplanations
from veridical.audits.sources import check_marks, human_job, take_in
from veridical.core.errors import InputError
from veridical.core.files import ExplanationWriter, read_all, spec_key
from veridical.core.progress import Watch
from veridical.core.values import Explanation, Unit
from veridical.run.explain import explain_into
from veridical.run.handle import ModelHandle

MODEL = Classifier.load(
    lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts], labels=["yes", "no"], name="mine"
)
GOOD = (Unit("text", (2, 6), "good"),)


@pytest.fixture
def keeping(tmp_path):
    """A function that does something with the explanations of one file."""

    def call(work, *examples):
        with ExplanationWriter(tmp_path / "all.parquet") as writer:
            return work(AuditExplanations(writer, examples, ModelHandle.of(MODEL)))

    return call


@pytest.fixture
def explained(keeping, tmp_path):
    def call(*examples, target="predicted"):
        job = human_job(ModelHandle.of(MODEL), target, Engine())
        done = keeping(lambda kept: explain_into(kept, job, examples, engine=Engine(), watch=Watch()), *examples)
        return read_all(tmp_path / "all.parquet"), [failure.example_id for failure in done.failures]

    return call


def test_marked_words_score_one(explained):
    (made,), _ = explained(Example("0", {"text": "a good day"}, "no", evidence=GOOD))
    assert made.scores == (0.0, 1.0, 0.0)
    assert (made.source, made.target, made.label) == ("human", "yes", "no")
    assert made.measures["queries"] == 0


def test_a_part_of_a_word_marks_it(explained):
    (made,), _ = explained(Example("0", {"text": "a good day"}, evidence=(Unit("text", (5, 8), "d d"),)))
    assert made.scores == (0.0, 1.0, 1.0)


def test_the_class_is_the_one_that_is_audited(explained):
    (made,), _ = explained(Example("0", {"text": "a good day"}, "no", evidence=GOOD), target="gold")
    assert made.target == "no"


def test_examples_without_words_or_label_fail(explained):
    made, failed = explained(
        Example("blank", {"text": "  "}, "yes", evidence=GOOD),
        Example("unlabelled", {"text": "a good day"}, evidence=GOOD),
        Example("whole", {"text": "a good day"}, "yes", evidence=GOOD),
        target="gold",
    )
    assert [each.example_id for each in made] == ["whole"]
    assert failed == ["blank", "unlabelled"]


def test_marks_must_be_those_that_were_taken_in(explained, keeping):
    example = Example("0", {"text": "a good day"}, "no", evidence=GOOD)
    explained(example)
    job = human_job(ModelHandle.of(MODEL), "predicted", Engine())
    keeping(lambda kept: check_marks(job, kept), example)
    with pytest.raises(InputError, match="example 0: an earlier audit in this folder has other scores by human"):
        keeping(lambda kept: check_marks(job, kept), replace(example, evidence=(Unit("text", (7, 10), "day"),)))


def explanation(id, *scores, **spec):
    words = tuple(Unit("text", (2 * place, 2 * place + 1), "w") for place in range(len(scores)))
    text = " ".join(word.text for word in words)
    return Explanation(id, {"text": text}, "yes", words, scores, {"yes": 1.0}, "mine", {"model": "mine", **spec})


@pytest.fixture
def take(keeping):
    """Take explanations in for the examples `0`, of two words, and `1`, of one."""
    examples = Example("0", {"text": "w w"}), Example("1", {"text": "w"})
    return lambda *made: keeping(lambda kept: take_in(made, kept), *examples)


def test_explanations_are_taken_in_once(take, tmp_path):
    made = [explanation("0", 0.5, 1.0), explanation("1", 0.25)]
    for _ in range(2):
        assert take(*made) == [spec_key({"model": "mine"})]
    assert read_all(tmp_path / "all.parquet") == made


def test_keys_come_in_order_of_appearance(take):
    made = [explanation("1", 0.5, seed=2), explanation("1", 0.5, seed=1), explanation("0", 0.5, 1.0, seed=2)]
    assert take(*made) == [spec_key({"model": "mine", "seed": seed}) for seed in (2, 1)]


def test_other_scores_of_the_same_spec_are_refused(take):
    take(explanation("0", 0.5, 1.0))
    other = explanation("0", 0.6, 1.0)
    for changed in (other, replace(other, units=other.units[:1], scores=(0.5,))):
        with pytest.raises(InputError, match="example 0: an earlier audit in this folder has other scores by mine"):
            take(changed)


def test_last_digits_may_differ(take, tmp_path):
    made = explanation("0", 0.5, 1.0)
    take(made)
    take(replace(made, scores=(0.5 + 1e-7, 1.0)))
    assert read_all(tmp_path / "all.parquet") == [made]


def test_explanations_of_some_other_examples_are_passed_over(take, tmp_path):
    take(explanation("0", 0.5, 1.0), explanation("9", 0.5))
    assert [each.example_id for each in read_all(tmp_path / "all.parquet")] == ["0"]


def test_explanations_of_other_examples_only_are_refused(take):
    with pytest.raises(InputError, match="by mine are of other examples, such as '9'; here is '0'"):
        take(explanation("9", 0.5))
    assert take() == []
