"""Audits of a model that gives any number of labels: a document is a label of an example."""

import numpy as np
import pytest

from veridical import Example, explain
from veridical.audits.card import compare_folders, publish
from veridical.audits.job import audit
from veridical.audits.record import Document, document_id
from veridical.audits.store import load_audit
from veridical.audits.timing import time_method
from veridical.core.files import ExplanationWriter
from veridical.core.progress import Watch
from veridical.core.values import Unit
from veridical.masking import Engine
from veridical.run.explain import ExplainJob

HAPPY = (Unit("text", (2, 7), "happy"),)
EXAMPLES = [
    Example("0", {"text": "a happy and furious day"}, ("joy",), evidence=HAPPY),
    Example("1", {"text": "the house today"}, ("news",)),
    Example("2", {"text": "it was a green tree"}, ()),
]
IDS = ["0 [anger]", "0 [joy]", "1 [news]", "2 [anger]"]  # the last example has no label: its highest is explained
FLIP = "decision-flip(eraser=delete)"


def test_each_label_that_is_explained_is_a_document(moods, tmp_path):
    found = audit(moods, EXAMPLES, "occlusion", FLIP, out=tmp_path, timed=1)
    assert [each.id for each in found.documents] == IDS
    assert [each.label for each in found.documents] == [("joy",), ("joy",), ("news",), ()]
    assert found.documents[0].probability == pytest.approx(0.9)
    # The word that decides a label is erased first, and the label leaves the set. A label that is not in it never does.
    assert found.values(FLIP, "occlusion").tolist() == pytest.approx([1 / 5, 1 / 5, 1 / 3, 1])
    assert found.detail("flipped", FLIP, "occlusion").tolist() == [1, 1, 1, 0]
    assert [found.example_of(each) for each in found.documents] == ["0", "0", "1", "2"]
    again = load_audit(tmp_path)
    assert again.documents == found.documents
    publish(tmp_path)
    assert "0 [joy]" in (tmp_path / "card.html").read_text()


def test_a_second_call_finds_everything_done(moods, tmp_path):
    first = audit(moods, EXAMPLES, "occlusion", "default", out=tmp_path, timed=1)
    second = audit(moods, EXAMPLES, "occlusion", "default", out=tmp_path, timed=1)
    assert (second.documents, second.work) == (first.documents, first.work)
    for metric in first.metrics:
        values = (each.values(metric.name, "occlusion") for each in (first, second))
        np.testing.assert_array_equal(*values)


def test_documents_of_one_example_are_not_independent(moods):
    warnings = audit(moods, EXAMPLES, "occlusion", FLIP, timed=0).summary.warnings
    assert any("The 4 documents are labels of 3 examples" in warning for warning in warnings)
    one_each = audit(moods, EXAMPLES, "occlusion", FLIP, target="joy", timed=0)
    assert [each.id for each in one_each.documents] == ["0 [joy]", "1 [joy]", "2 [joy]"]
    assert not any("labels of" in warning for warning in one_each.summary.warnings)


def test_people_mark_the_reasons_for_gold_labels(moods):
    found = audit(moods, EXAMPLES, "human, occlusion", f"{FLIP}, rationale-auc", timed=0)
    assert np.isnan(found.values(FLIP, "human")).tolist() == [True, False, True, True]
    # Evidence says nothing of a label that the example does not have.
    assert np.isnan(found.values("rationale-auc", "occlusion")).tolist() == [True, False, True, True]


def test_groups_are_those_of_targets(moods):
    parts = audit(moods, EXAMPLES, "occlusion", FLIP, timed=0).summary.parts
    names = {part.group for part in parts if part.by == "class"}
    assert names == {"anger", "joy", "news"}


def test_metrics_of_all_explanations_compare_those_of_one_label(moods):
    twice = [*EXAMPLES, Example("3", {"text": "a happy and furious night"}, ("joy", "anger"))]
    found = audit(moods, twice, "occlusion", "stability", timed=0)
    scored = dict(zip([each.id for each in found.documents], found.values("stability", "occlusion"), strict=True))
    assert scored["0 [joy]"] == scored["3 [joy]"] > 0
    assert np.isnan(scored["1 [news]"])


def test_explanations_of_some_labels_are_judged_as_far_as_they_go(moods, tmp_path):
    mine = tmp_path / "mine.jsonl"
    with ExplanationWriter(mine) as writer:
        writer.write(explain(moods, EXAMPLES[:2], "lime(samples=20)", target="joy"))
    found = audit(moods, EXAMPLES, "occlusion", FLIP, explanations=mine, timed=0)
    name = next(each.name for each in found.methods if each.name.startswith("lime"))
    assert np.isnan(found.values(FLIP, name)).tolist() == [True, False, True, True]
    assert "'joy', but 'news' is judged" in found.failures["1"][name]
    assert found.failure_reasons["1"].startswith(f"{name}: ")  # other methods could explain it


def test_two_audits_are_paired_by_example_and_label(moods, tmp_path):
    audit(moods, EXAMPLES, "occlusion", FLIP, out=tmp_path / "one", timed=0)
    audit(moods, EXAMPLES, "occlusion", FLIP, out=tmp_path / "two", target="predicted", timed=0)
    compared = compare_folders(tmp_path / "one", tmp_path / "two")
    assert compared.documents == 4
    assert compared.likeness["occlusion"] == 1


def test_a_metric_that_needs_one_class_is_left_out_and_said(moods):
    found = audit(moods, EXAMPLES, "occlusion", f"{FLIP}, attack", timed=0)
    assert found.skipped["attack"] == (
        "it needs a model that gives one class per example, and this one gives any number of labels"
    )


def test_costs_are_those_of_a_document(moods):
    def costs(target):
        job = ExplainJob.of(moods, "occlusion(eraser=delete)", target, Engine(remember=0), None)
        return time_method(job, EXAMPLES[:1], Watch()).costs["forwards"]

    assert costs("predicted") <= costs("joy")  # two labels share what is asked of the model


def test_ids_tell_labels_apart_only_where_there_are_several():
    assert document_id("7", "joy", {"task": "labels"}) == "7 [joy]"
    assert document_id("7", "joy", {"kind": "text"}) == "7"
    assert Document("7", "joy", 3).label is None
