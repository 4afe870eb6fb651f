"""Objectives are compared by what an audit says of their models on the dev split."""

import json

import pytest

from veridical.core.errors import UsageError
from veridical.studies.choice import choose, model_folder
from veridical.testing.families import family
from veridical.training import Schedule

DATA = "planted(train=200, length=6)"
SCHEDULE = Schedule(epochs=2, checks=1)
CANDIDATES = ["cross-entropy", "saloss(lam=5.0)", "rationale"]
HOW = {"model": "tiny", "metric": "decision-flip", "documents": 20, "schedule": SCHEDULE}


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choice")
    return folder, choose(DATA, folder, CANDIDATES, seeds=(0, 1), lose=None, **HOW)


def test_the_best_mean_over_seeds_wins(chosen):
    _, found = chosen
    assert [each.objective for each in found.candidates] == ["cross-entropy", "saloss(lam=5.0)", "rationale"]
    assert found.best.mean == min(each.mean for each in found.candidates)  # lower is better
    assert not found.greater_is_better
    assert all(len(each.means) == len(each.trained) == 2 for each in found.candidates)


def test_the_means_are_those_of_audits_on_the_dev_split(chosen):
    folder, _ = chosen
    beside = model_folder(folder, "rationale", 1).parent / "audit-dev" / "audit.json"
    assert json.loads(beside.read_text())["data"] == f"{DATA}:dev[:20]"


def test_each_is_compared_with_the_first_by_document(chosen):
    _, found = chosen
    first, *others = found.candidates
    assert first.contrast is None
    for each in others:
        assert each.contrast.n == 20
        assert each.contrast.mean == pytest.approx(first.mean - each.mean)


def test_one_that_lost_too_much_of_the_dev_figure_is_not_chosen(chosen):
    folder, found = chosen
    again = choose(DATA, folder, CANDIDATES, seeds=(0, 1), lose=0.0, **HOW)
    first = found.candidates[0].skill
    assert [each.eligible for each in again.candidates] == [each.skill >= first for each in found.candidates]
    assert again.best.eligible
    assert not all(each.eligible for each in again.candidates)


def test_the_same_call_again_trains_nothing(chosen):
    folder, found = chosen
    again = choose(DATA, folder, CANDIDATES, seeds=(0, 1), lose=None, **HOW)
    assert all(each.was_done for candidate in again.candidates for each in candidate.trained)
    assert [each.means for each in again.candidates] == [each.means for each in found.candidates]


def test_one_objective_is_no_choice(tmp_path):
    with pytest.raises(UsageError, match="nothing to choose from"):
        choose(DATA, tmp_path, ["saloss(lam=5)", "saloss(lam=5.0)"], **HOW)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"method": "atention"}, "unknown explainer 'atention'"),
        ({"method": "human"}, "not one method of explanation"),
        ({"method": "attention, occlusion"}, "not one method of explanation"),
        ({"metric": "decision-flips"}, "unknown metric"),
        ({"metric": "models"}, "not one metric"),
        ({"metric": "attack(finder=rules, lists=short)"}, "judges models and not their explanations"),
    ],
)
def test_what_cannot_decide_is_refused_before_training(tmp_path, how, problem):
    with pytest.raises(UsageError, match=problem):
        choose(DATA, tmp_path / "runs", CANDIDATES, **{**HOW, **how})
    assert not (tmp_path / "runs").exists()


def test_a_method_that_the_model_has_no_means_for_does_not_decide(tmp_path):
    family("modernbert").save(tmp_path / "start")
    how = {"model": str(tmp_path / "start"), "method": "lrp", "documents": 5, "schedule": Schedule(epochs=1, checks=1)}
    with pytest.raises(UsageError, match="cannot be explained by lrp.*Choose by another method"):
        choose(DATA, tmp_path / "runs", ["cross-entropy", "random-erasure"], **how)
