"""Masked accuracy: the figure of training, document by document; and models that no layer was trained with."""

import json
import math
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file

from veridical.audits.job import audit
from veridical.audits.record import MODEL
from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case
from veridical.metrics import METRICS, MaskedAccuracy, measure
from veridical.models import Classifier
from veridical.models.classifier import fingerprint_of
from veridical.run.train import train
from veridical.testing import check_metric
from veridical.training import Schedule

TEXTS, IMAGES = "planted(train=80, dev=40, test=60, length=8)", "planted-images(train=40, dev=20, test=30)"
QUICK = Schedule(epochs=1, checks=1, batch_size=8)


def trained_with(objective, folder, data=TEXTS):
    done = train(data, folder, model="tiny", objective=objective, schedule=QUICK)
    return Classifier.load(folder), load(f"{data}:test").examples, done


@pytest.fixture(scope="module")
def l2x(tmp_path_factory):
    return trained_with("l2x(count=2)", tmp_path_factory.mktemp("l2x") / "model")


@pytest.mark.parametrize(
    ("objective", "data"),
    [
        ("scc + regex", TEXTS),
        ("vmask(special=true)", TEXTS),
        ("l2x(count=1)", TEXTS),
        ("iba(information=0.1)", TEXTS),
        ("scc", IMAGES),
        ("iba", IMAGES),
    ],
)
def test_it_is_the_figure_of_training(objective, data, tmp_path):
    classifier, examples, done = trained_with(objective, tmp_path / "model", data)
    case = Case.bind(classifier, examples)
    values = measure(MaskedAccuracy(), case, torch.zeros(case.live.shape)).values
    assert set(values.tolist()) <= {0, 1}
    assert values.mean().item() == pytest.approx(done.test["masked_accuracy"], abs=1e-6)
    logits = case.logits_through(METRICS.create("masked-accuracy")._mask(classifier).tested)
    gold = torch.tensor([classifier.labels.index(each.label) for each in examples])
    loss = torch.nn.functional.cross_entropy(logits, gold).item()
    assert loss == pytest.approx(done.test["masked_loss"], abs=1e-5)


def test_it_keeps_the_contract(l2x):
    classifier, examples, _ = l2x
    check_metric(MaskedAccuracy(), lambda: (classifier, list(examples[:4])))


def test_without_a_label_it_is_undefined(l2x):
    classifier, _, _ = l2x
    case = Case.bind(classifier, [Example("x", {"text": "a film"})])
    assert math.isnan(measure(MaskedAccuracy(), case, torch.zeros(case.live.shape)).values.item())


def test_in_an_audit_both_ways_to_test_stand_side_by_side(l2x, tmp_path):
    classifier, examples, done = l2x
    found = audit(classifier, examples, "l2x", "accuracy, masked-accuracy", out=tmp_path, timed=0)
    for metric, figure in (("accuracy", "accuracy"), ("masked-accuracy", "masked_accuracy")):
        cell = found.summary.table(metric).cell(MODEL)
        assert cell.mean == pytest.approx(done.test[figure], abs=1e-6)
        assert cell.low <= cell.mean <= cell.high
        assert not found.has(metric, "l2x")
    details = json.loads((tmp_path / "audit.json").read_text())
    assert "masked-accuracy" in json.dumps(details)


def test_a_model_without_a_layer_is_told_so(trained, l2x, tmp_path):
    classifier, examples, _ = l2x
    plain = Classifier.load(trained)
    with pytest.raises(UnsupportedError, match=r"no mask layer.*--objective scc"):
        MaskedAccuracy().require(plain)
    found = audit(plain, examples[:4], "occlusion", "accuracy, masked-accuracy", out=tmp_path / "audit", timed=0)
    assert "no mask layer" in found.skipped["masked-accuracy"]
    classifier.save(tmp_path / "copy")  # without the record of its training
    with pytest.raises(UnsupportedError, match="does not say how it was trained"):
        MaskedAccuracy().require(Classifier.load(tmp_path / "copy"))
    with pytest.raises(UsageError, match="unknown mask layer of this model 'scc'.*There are: l2x"):
        MaskedAccuracy(layer="scc").require(classifier)


def test_a_selector_whose_reader_was_thrown_away(trained, tmp_path):
    few = Schedule(epochs=1, checks=1)
    train(TEXTS, tmp_path / "model", model=str(trained), objective="l2x(mode=posthoc)", schedule=few)
    with pytest.raises(UnsupportedError, match="had a copy of the model read its words"):
        MaskedAccuracy().require(Classifier.load(tmp_path / "model"))


def test_a_layer_that_does_not_say_what_stands_for_a_masked_patch(tmp_path):
    classifier, _examples, _ = trained_with("vmask", tmp_path / "model", IMAGES)
    folder = classifier.learned["vmask"]
    weights = load_file(folder / "weights.safetensors")
    assert weights.pop("absent").shape == (64,)
    save_file(weights, folder / "weights.safetensors")
    told = json.loads((folder / "component.json").read_text()) | {"weights": fingerprint_of(weights)}
    (folder / "component.json").write_text(json.dumps(told))
    older = Classifier.load(tmp_path / "model")
    with pytest.raises(UnsupportedError, match="does not say what stands for a masked word.*Train it again"):
        MaskedAccuracy().require(older)


def test_one_of_several_layers(l2x):
    classifier, examples, _ = l2x
    case = Case.bind(classifier, examples[:5])
    one, other = (measure(MaskedAccuracy(layer=name), case, torch.zeros(case.live.shape)) for name in (None, "l2x"))
    assert torch.equal(one.values, other.values)
    assert replace(MaskedAccuracy(), layer="l2x") == METRICS.create("masked-accuracy(layer=l2x)")
