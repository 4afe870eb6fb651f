"""Who wins: by means over the documents that all have, never without a number, and never with too little skill."""

import math

import numpy as np
import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.core.errors import UsageError
from veridical.run.train import Trained
from veridical.studies.choice import aligned, decide

NAN = math.nan


def audited(values, greater=True):
    """An audit of one metric with a known number for each document; None: the document is not in it."""
    known = {name: value for name, value in values.items() if value is not None}
    return Audit(
        model={"name": "tiny"},
        data="made:dev",
        documents=tuple(Document(name, "yes", 5) for name in known),
        methods=(AuditedMethod("attention", {"method": {"name": "attention"}}),),
        metrics=(AuditedMetric("flip", {"name": "flip"}, greater_is_better=greater),),
        rows=tuple(Measurement(name, "attention", "flip", value) for name, value in known.items()),
    )


def test_sets_of_labels_are_chosen_by_their_micro_f1():
    run = Trained("out", {"loss": 1.0, "micro_f1": 0.9, "macro_f1": 0.8, "accuracy": 0.5}, {}, 0)
    choice = decide({"one": [run]}, {"one": [audited({"a": 1.0, "b": 2.0})]}, "attention", None, None)
    assert (choice.figure, choice.best.skill) == ("micro_f1", 0.9)


def decided(values, skills=None, lose=None, greater=True):
    """Decide between candidates with numbers [seeds][documents]; documents are called by letters."""
    audits = {
        name: [audited(dict(zip("abcdefgh", seed, strict=False)), greater) for seed in seeds]
        for name, seeds in values.items()
    }
    dev = skills or dict.fromkeys(values, 0.9)
    trained = {name: [Trained(name, {"accuracy": dev[name]}, {}, 0)] * len(seeds) for name, seeds in values.items()}
    return decide(trained, audits, "attention", None, lose)


def candidate(found, name):
    return next(each for each in found.candidates if each.objective == name)


def test_the_highest_mean_wins_or_the_lowest():
    values = {"plain": [[0.1, 0.3]], "other": [[0.5, 0.7]]}
    assert decided(values).best.objective == "other"
    assert decided(values, greater=False).best.objective == "plain"
    assert candidate(decided(values), "other").mean == pytest.approx(0.6)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("greater", [True, False])
def test_one_without_a_number_never_wins(first, greater):
    values = {"plain": [[0.1, 0.3]], "other": [[0.2, 0.4]]}
    undefined = {"nothing": [[NAN, NAN]]}
    found = decided({**undefined, **values} if first else {**values, **undefined}, greater=greater)
    assert found.best.objective == ("other" if greater else "plain")
    assert math.isnan(candidate(found, "nothing").mean)
    assert candidate(found, "nothing").contrast is None
    assert found.documents == 2


def test_a_single_seed_without_a_number_is_enough():
    found = decided({"plain": [[0.1], [0.1]], "other": [[0.9], [NAN]]})
    assert found.best.objective == "plain"


def test_means_are_over_the_documents_that_all_have():
    values = {"plain": [[0.5, 0.5, 0.5, 0.5]], "other": [[NAN, 0.4, 0.4, NAN]], "third": [[0.9, 0.3, 0.3, None]]}
    found = decided(values)
    assert found.documents == 2
    assert candidate(found, "third").mean == pytest.approx(0.3)  # 0.5 by documents that others do not have
    assert found.best.objective == "plain"
    for name in ("other", "third"):
        contrast = candidate(found, name).contrast
        assert contrast.n == 2
        assert contrast.mean == pytest.approx(candidate(found, "plain").mean - candidate(found, name).mean)


def test_documents_are_matched_by_name_and_not_by_place():
    audits = [audited({"a": 1.0, "b": 2.0}), audited({"b": 4.0, "a": 3.0})]
    np.testing.assert_array_equal(
        aligned(audits, "flip", "attention", ["b", "c", "a"]), [[2.0, NAN, 1.0], [4.0, NAN, 3.0]]
    )


@pytest.mark.parametrize(
    "values", [{"plain": [[NAN]], "other": [[NAN]]}, {"plain": [[1.0, NAN]], "other": [[NAN, 1.0]]}]
)
def test_without_any_number_nothing_is_chosen(values):
    with pytest.raises(UsageError, match="nothing can be chosen by flip.*Choose by another metric"):
        decided(values)


def test_too_little_skill_cannot_win():
    values = {"plain": [[0.1]], "other": [[0.9]]}
    skills = {"plain": 0.9, "other": 0.85}
    assert decided(values, skills, lose=0.02).best.objective == "plain"
    assert decided(values, skills, lose=0.05).best.objective == "other"
    assert decided(values, skills, lose=None).best.objective == "other"
    with pytest.raises(UsageError, match="undefined for every candidate that may win"):
        decided({"plain": [[NAN]], "other": [[0.9]]}, skills, lose=0.02)
