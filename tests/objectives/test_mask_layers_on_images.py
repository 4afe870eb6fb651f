"""Mask layers on images: patches are what is kept, and the planted patch is found."""

from __future__ import annotations

from statistics import fmean

import pytest
import torch

from veridical.audits.job import audit
from veridical.data import load
from veridical.explainers import EXPLAINERS
from veridical.explainers.mask_layers import SCCLayer
from veridical.masking import Case
from veridical.models import Classifier
from veridical.objectives import OBJECTIVES
from veridical.objectives.base import prepare
from veridical.run.explain import explain
from veridical.run.train import train
from veridical.testing import image_classifier, text_classifier
from veridical.training import Schedule
from veridical.training.trainer import Trainee

DATA = "planted-images(train=400, dev=50, test=100)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a small vision transformer that could already tell the patterns when SCC began."""
    folder = tmp_path_factory.mktemp("images")
    plain, masked = (Schedule(epochs=epochs, checks=1, batch_size=16) for epochs in (6, 4))
    train(DATA, folder / "plain", model="tiny", schedule=plain)
    done = train(DATA, folder / "scc", model=str(folder / "plain"), objective="scc", schedule=masked)
    assert done.test["accuracy"] > 0.95
    return folder / "scc"


def better_class(values, examples):
    """The mean of the class that has the higher one: of two classes, one may be told by what is missing."""
    labels = [example.label for example in examples]
    return max(fmean(value for value, own in zip(values, labels, strict=True) if own == label) for label in set(labels))


def test_the_planted_patch_comes_out_on_top(run):
    examples = load(f"{DATA}:test").examples[:100]
    found = explain(Classifier.load(run), examples, "scc")
    hits = [
        max(zip(made.scores, made.units, strict=True))[1].span == example.evidence[0].span
        for made, example in zip(found, examples, strict=True)
    ]
    assert better_class(hits, examples) > 0.9  # chance is a sixteenth


def test_the_mask_overlaps_with_the_planted_patch_more_than_chance_does(run):
    examples = load(f"{DATA}:test[:40]")
    made = audit(run, examples, ["scc", "random"], ["rationale-auc"], timed=0, reverse=False)
    scc, chance = (better_class(made.values("rationale-auc", method), examples) for method in ("scc", "random"))
    assert scc > 0.9 > 0.75 > chance


def test_an_explanation_takes_the_pass_of_the_prediction(run):
    classifier, runs = Classifier.load(run), []
    classifier.model.register_forward_hook(lambda *_: runs.append(1))
    (made,) = explain(classifier, load(f"{DATA}:test").examples[:1], "scc")
    assert len(runs) == 1
    assert made.measures["queries"] == 1


def test_the_saved_layer_still_reads_states_at_one_scale(run):
    assert EXPLAINERS.create(Classifier.load(run).learned["scc"]).normalise


@pytest.mark.parametrize("name", ["scc", "vmask", "l2x", "iba"])
def test_states_are_normalised_where_layers_norm_first(name):
    for sample, normalise in ((image_classifier, True), (text_classifier, False)):
        classifier, examples = sample()
        assert prepare(OBJECTIVES.create(name), classifier, examples).layer.normalise == normalise


def test_a_normalised_layer_does_not_see_how_large_states_are():
    hidden = torch.randn(3, 2, 5, 64, generator=torch.Generator().manual_seed(0))
    by_scale = [SCCLayer(normalise=normalise) for normalise in (True, False)]
    same, other = ((layer.logits(list(hidden)), layer.logits(list(10 * hidden))) for layer in by_scale)
    torch.testing.assert_close(*same, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(*other, atol=0.1)


def test_scores_of_images_are_the_same_in_any_batch():
    classifier, examples = image_classifier()
    layer = SCCLayer(normalise=True)
    together = layer.scores(Case.bind(classifier, examples)).values
    for at, example in enumerate(examples):
        assert torch.allclose(layer.scores(Case.bind(classifier, [example])).values[0], together[at], atol=1e-5)


@pytest.mark.parametrize("name", ["scc", "vmask", "l2x"])
def test_a_masked_patch_has_a_gradient_of_usual_size(name):
    """Patches of 0 would be normed to nothing at all, with a gradient that drowns that of all other weights."""
    classifier, examples = image_classifier()
    sizes = {}
    for objective in ("cross-entropy", name):
        trainee = Trainee(classifier, prepare(OBJECTIVES.create(objective), classifier, examples))
        trainee.zero_grad()
        torch.manual_seed(0)
        trainee(classifier.encode(examples))["loss"].backward()
        gradients = [each.grad for each in trainee.parameters() if each.grad is not None]
        sizes[objective] = sum(float(each.pow(2).sum()) for each in gradients) ** 0.5
    assert sizes[name] < 50 * sizes["cross-entropy"]
