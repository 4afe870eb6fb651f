"""What `print` and a notebook show of the things that jobs return."""

import re

import numpy as np
import pytest

import veridical
from veridical import Classifier, audit, check, explain, read, summarise
from veridical.audits.statistics.comparison import compare
from veridical.core.errors import UsageError

FLIP = "decision-flip(eraser=mask)"
TEXTS = ["good <b>film</b>", "bad film", "good day", "bad day and night"]


def by_rule(texts):
    positive = np.array([0.9 if "good" in text else 0.2 for text in texts])
    return np.stack([1 - positive, positive], axis=1)


@pytest.fixture(scope="module")
def classifier():
    return Classifier.load(by_rule, labels=["negative", "positive"])


@pytest.fixture(scope="module")
def audited(classifier):
    return audit(classifier, TEXTS, ["occlusion"], [FLIP], timed=0)


def test_a_classifier(classifier):
    assert repr(classifier) == "BlackBox(black-box: one of negative, positive)"
    many = Classifier.load(lambda texts: [[0.125] * 8] * len(texts), labels=list("abcdefgh"), name="many")
    assert "one of a, b, c, d, e, f and 2 more" in repr(many)


def test_an_explanation_and_a_list_of_them(classifier):
    found = explain(classifier, TEXTS, method="occlusion")
    assert repr(found[1]).startswith("Explanation(1: negative ")
    assert " by occlusion: bad +" in str(found[1])
    assert all(len(line) < 200 for line in map(str, found))
    assert len(str(found)) < 800


def test_an_audit_and_its_summary(audited):
    assert repr(audited).endswith("4 documents, 2 methods, 1 metrics)")
    first, *verdict = str(audited).splitlines()
    assert first == repr(audited)
    assert verdict == list(audited.summary.verdict) == str(audited.summary).splitlines()[1:]
    assert "Summary(" in repr(audited.summary)


def test_a_comparison(audited):
    found = compare(audited, audited)
    assert "4 shared documents" in repr(found)
    assert str(found).splitlines()[1:] == list(found.verdict)


def test_a_check_says_what_is_doubtful(classifier):
    done = check(classifier, TEXTS)
    first, *told = str(done).splitlines()
    assert first == repr(done)
    assert told[-1].startswith("ok: same answer twice, ")
    doubtful = [found.name for found in (*done.checks, *done.methods) if found.verdict != "ok"]
    assert [line.partition(":")[0] for line in told[:-1]] == doubtful


def test_notebooks_show_audits_and_checks_escaped(classifier, audited):
    page = audited._repr_html_()
    assert "<td" in page
    assert f"{FLIP} ↓" in page
    named = audit(Classifier.load(classifier.function, labels=classifier.labels, name="<i>x"), TEXTS, timed=0)
    assert "&lt;i&gt;x" in named._repr_html_()
    assert "<i>x" not in named._repr_html_()
    assert "same answer twice" in check(classifier, TEXTS)._repr_html_()


@pytest.mark.parametrize(
    ("names", "near"),
    [
        (("decision-flop", "occlusion"), FLIP),
        ((FLIP, "oclusion"), "occlusion"),
        ((FLIP, "occlusion", "revers"), "reversed"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(audited, names, near):
    for ask in (audited.values, audited.curves):
        with pytest.raises(UsageError, match=re.escape(f"Did you mean '{near}'")):
            ask(*names)
    with pytest.raises(UsageError, match=re.escape("unknown method of this audit ['occlusion']")):
        audited.values(FLIP, ["occlusion"])
    with pytest.raises(UsageError, match="unknown metric of this summary 'x'"):
        audited.summary.table("x")


def test_what_is_no_audit_or_no_path_of_one_is_refused(audited):
    with pytest.raises(UsageError, match="None is no audit"):
        summarise(None)
    for given in (audited, 5, None):
        with pytest.raises(UsageError, match="is no path of an audit's folder. audit"):
            veridical.compare(given, given)
    with pytest.raises(UsageError, match="5 is no path of a file of explanations"):
        read(5)
