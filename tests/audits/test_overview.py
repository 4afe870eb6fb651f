"""What is said of documents and scores before any metric judges them."""

import math
from dataclasses import replace

import numpy as np
import pytest

from veridical import Example
from veridical.audits.explanations import MethodScores, ScoredDocument
from veridical.audits.job import documents_of, likeness_of, warnings_about
from veridical.audits.record import MODEL, Document

EXAMPLES = [Example("a", {"text": "one two three four"}, "x"), Example("b", {"text": "five six seven eight"})]
TARGETS = {"a": ("yes",), "b": ("no",)}


def method(name, truncated=False, **scores):
    """A method with scores by example."""
    return MethodScores(
        name,
        {},
        {
            (example, TARGETS[example][0]): ScoredDocument(
                example, TARGETS[example][0], np.array(values, dtype=float), "", 1.0, 0.75, truncated
            )
            for example, values in scores.items()
        },
    )


def test_documents_are_those_that_were_judged():
    methods = [method("lime", b=[1, 2, 3, 4]), method("lrp", a=[1, 2, 3, 4], b=[1, 2, 3, 4])]
    first, second = documents_of(EXAMPLES, TARGETS, methods, {"a", "b"})
    assert (first.id, first.target, first.units, first.label, first.probability) == ("a", "yes", 4, "x", 0.75)
    assert second.label is None
    assert first.digest != second.digest
    assert [each.id for each in documents_of(EXAMPLES, TARGETS, methods, {"b"})] == ["b"]


def test_likeness_is_that_of_first_words_on_shared_documents():
    methods = [
        method("lime", a=[9, 0, 0, 0], b=[9, 0, 0, 0]),
        method("lrp", a=[9, 0, 0, 0], b=[0, 9, 0, 0]),
        MethodScores(MODEL, {}, method("lime", a=[0, 0, 0, 0]).scored),
    ]
    documents = [Document("a", "yes", 4), Document("b", "no", 4)]
    found = likeness_of(methods, documents)
    assert (found.methods, found.values) == (("lime", "lrp"), ((1.0, 0.5), (0.5, 1.0)))
    assert "first 25% of words" in found.meaning
    assert likeness_of(methods, documents[:1]).values[0][1] == 1.0
    assert likeness_of(methods[:1], documents) is None
    assert likeness_of([*methods, method("shap", a=[1, 2, 3, 4])], documents).values[0][2] == 0.0  # only `a` is shared


def test_scores_that_say_nothing_and_texts_that_were_cut_are_doubtful():
    methods = [method("lime", a=[0, 0, 0, 0], b=[1, 0, 0, 0]), method("lrp", truncated=True, b=[1, 0, 0, 0])]
    flat, cut = warnings_about(methods)
    assert flat == "lime scores every word 0 in 1 document (a): the order that was judged is that of the text."
    assert cut == "1 text was longer than the model reads, and cut (b). long='window' reads all."
    assert math.isnan(method("none").queries)


@pytest.mark.parametrize(("residuals", "doubtful"), [((0.3, -0.1), True), ((0.05, -0.1), False)])
def test_scores_that_miss_their_differences_are_doubtful(residuals, doubtful):
    """Over all documents: one whose difference is small by chance must not raise an alarm."""
    found = method("integrated-gradients", a=[1, 0, 0, 0], b=[1, 0, 0, 0])
    for place, difference, residual in zip(list(found.scored), (2.0, -0.01), residuals, strict=True):
        found.scored[place] = replace(found.scored[place], difference=difference, residual=residual)
    told = list(warnings_about([found]))
    assert len(told) == doubtful
    if doubtful:
        assert told[0].startswith("The scores of integrated-gradients miss 20% of the differences that they share out")
