"""What an objective leaves behind is saved below the model, and refused early where that could not be."""

from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from veridical.core.errors import UsageError
from veridical.data import load
from veridical.explainers import EXPLAINERS, Explainer, Occlusion, Scores, VMaskLayer
from veridical.models import Classifier
from veridical.models.new import start
from veridical.objectives import CrossEntropy, Objective, Sum
from veridical.run.explain import explain
from veridical.training import Schedule
from veridical.training.fit import fit, save_trained


@dataclass(frozen=True)
class Leaving(Objective):
    """Plain training that leaves explainers."""

    left: dict = field(default_factory=dict)

    @property
    def explainers(self):
        return self.left

    def __call__(self, case):
        return CrossEntropy()(case)


@pytest.fixture(scope="module")
def data():
    return load("planted(train=64, length=5):train"), load("planted(train=64, length=5):dev[:20]")


@pytest.fixture
def classifier(data):
    return start("tiny", data[0], data[0].labels)


def mask(weight):
    made = VMaskLayer()
    nn.init.constant_(made.network.last.weight, weight)
    return made


def test_all_explainers_are_saved_and_found(classifier, tmp_path):
    left = {"one": mask(0.1), "two": mask(0.2), "plain": Occlusion(eraser="delete")}
    save_trained(classifier, Leaving(left), tmp_path)
    loaded = Classifier.load(tmp_path)
    assert loaded.learned == {name: tmp_path / "explainers" / name for name in ("one", "plain", "two")}
    assert loaded.fingerprint == classifier.fingerprint
    assert EXPLAINERS.create(loaded.learned["plain"]) == Occlusion(eraser="delete")
    for name in ("one", "two"):
        found = EXPLAINERS.create(loaded.learned[name])
        assert (found.fingerprint, found.made_for) == (left[name].fingerprint, loaded.fingerprint)
        assert explain(classifier, ["good"], found)[0].scores == explain(loaded, ["good"], left[name])[0].scores


def test_what_a_model_had_before_it_was_trained_is_not_kept(classifier, tmp_path):
    save_trained(classifier, Leaving({"old": mask(0.1)}), tmp_path / "first")
    save_trained(classifier, Leaving({"new": mask(0.2)}), tmp_path / "second")
    assert set(classifier.learned) == set(Classifier.load(tmp_path / "second").learned) == {"new"}


def test_a_folder_keeps_no_explainers_of_another_model(classifier, data, tmp_path):
    save_trained(classifier, Leaving({"old": mask(0.1), "both": mask(0.1)}), tmp_path)
    save_trained(classifier, Leaving({"both": mask(0.2)}), tmp_path)
    loaded = Classifier.load(tmp_path)
    assert set(loaded.learned) == {"both"}
    assert EXPLAINERS.create(loaded.learned["both"]).made_for == loaded.fingerprint
    loaded.save(tmp_path)  # into its own folder
    assert set(Classifier.load(tmp_path).learned) == {"both"}
    start("tiny", data[0], data[0].labels, seed=1).save(tmp_path)
    assert Classifier.load(tmp_path).learned == {}


def test_a_changed_weight_of_an_explainer_changes_the_model(classifier, tmp_path):
    found = []
    for weight in (0.1, 0.2):
        save_trained(classifier, Leaving({"one": mask(weight)}), tmp_path)
        found.append(Classifier.load(tmp_path).fingerprint)
    plain = start("tiny", load("planted(train=64, length=5):train"), classifier.labels).fingerprint
    assert len({*found, plain}) == 3


def test_two_of_a_sum_with_the_same_name(classifier, data, tmp_path):
    objective = Sum((Leaving({"one": mask(0.1)}), Leaving({"one": mask(0.2)})))
    with pytest.raises(UsageError, match="two objectives of a sum leave the explainer 'one'"):
        fit(classifier, objective, *data, tmp_path)


@dataclass(frozen=True)
class Nameless(Explainer):
    def scores(self, case):
        return Scores(torch.zeros(case.live.shape))


def test_an_explainer_that_could_not_be_saved_is_named_before_training(classifier, data, tmp_path):
    with pytest.raises(
        UsageError, match="'mine' that Leaving leaves could not be saved: its class Nameless has no name"
    ):
        fit(classifier, Leaving({"mine": Nameless()}), *data, tmp_path, Schedule(epochs=1))
    assert not list(tmp_path.iterdir())
