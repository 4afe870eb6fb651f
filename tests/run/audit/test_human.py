"""People's reasons as explanations."""

from veridical import Classifier, Engine, Example
from veridical.core.example import Unit
from veridical.run.audit.human import human_explanations

MODEL = Classifier.load(
    lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts], labels=["yes", "no"]
)
GOOD = (Unit("text", (2, 6), "good"),)


def explained(*examples, target="predicted"):
    return list(human_explanations(MODEL, examples, target, Engine()))


def test_marked_words_score_one():
    (made,) = explained(Example("0", {"text": "a good day"}, "no", evidence=GOOD))
    assert made.scores == (0.0, 1.0, 0.0)
    assert (made.source, made.target, made.label) == ("human", "yes", "no")


def test_a_part_of_a_word_marks_it():
    (made,) = explained(Example("0", {"text": "a good day"}, evidence=(Unit("text", (5, 8), "d d"),)))
    assert made.scores == (0.0, 1.0, 1.0)


def test_the_class_is_the_one_that_is_audited():
    (made,) = explained(Example("0", {"text": "a good day"}, "no", evidence=GOOD), target="gold")
    assert made.target == "no"


def test_examples_without_evidence_or_words_or_label_are_left_out():
    examples = [
        Example("none", {"text": "a good day"}, "yes"),
        Example("blank", {"text": "  "}, "yes", evidence=GOOD),
        Example("unlabelled", {"text": "a good day"}, evidence=GOOD),
        Example("whole", {"text": "a good day"}, "yes", evidence=GOOD),
    ]
    assert [made.example_id for made in explained(*examples, target="gold")] == ["whole"]
