"""Objectives are compared by what an audit says of their models on the dev split."""

import json

import pytest

from veridical.core.errors import CancelledError, StorageError, UsageError
from veridical.core.progress import Watch
from veridical.core.storage import OutputLock
from veridical.studies.choice import choose, model_folder
from veridical.testing.families import family
from veridical.training import Schedule

DATA = "planted(train=200, length=6)"
SCHEDULE = Schedule(epochs=2, checks=1)
CANDIDATES = ["cross-entropy", "saloss(lam=5.0)", "rationale"]
HOW = {"model": "tiny", "metric": "decision-flip", "documents": 20, "schedule": SCHEDULE}


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choice") / "runs"
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


def test_the_choice_is_kept_beside_the_models(chosen):
    folder, found = chosen
    told = json.loads((folder / "choice.json").read_text())
    assert told["best"]["objective"] in CANDIDATES
    assert [each["objective"] for each in told["candidates"]] == [each.objective for each in found.candidates]
    assert (folder / model_folder(folder, "rationale", 1).parent / "audit-dev" / "card.html").exists()
    record = json.loads((folder / "run.json").read_text())
    assert (record["job"], record["done"], record["data"], record["model"]) == ("choose", True, DATA, "tiny")


def test_another_training_in_the_same_folder_is_refused(chosen):
    folder, _ = chosen
    before = (folder / "choice.json").read_bytes()
    with pytest.raises(UsageError, match="holds another run, which differs in: schedule"):
        choose(DATA, folder, CANDIDATES, **{**HOW, "schedule": Schedule(epochs=1)})
    assert (folder / "choice.json").read_bytes() == before


def test_two_choices_do_not_share_a_folder(tmp_path):
    lock = OutputLock(tmp_path / "runs")
    with pytest.raises(StorageError, match="runs is being written by another process"):
        choose(DATA, tmp_path / "runs", CANDIDATES, **HOW)
    lock.release()


def test_a_choice_that_was_cancelled_goes_on(tmp_path):
    def stop(progress):
        told.append(progress.what)
        if "saloss" in progress.what:
            watch.cancel()

    told, watch = [], Watch(stop)
    how = {**HOW, "documents": 4, "schedule": Schedule(epochs=1, checks=1)}
    with pytest.raises(CancelledError):
        choose(DATA, tmp_path / "runs", CANDIDATES[:2], watch=watch, **how)
    assert told[0] == "cross-entropy, seed 0: training"
    assert not (tmp_path / "runs" / "choice.json").exists()
    found = choose(DATA, tmp_path / "runs", CANDIDATES[:2], **how)
    assert [each.trained[0].was_done for each in found.candidates] == [True, False]


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
