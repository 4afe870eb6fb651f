"""Mask layers through the commands: trained on a finished model, and named where a model has none."""

import json

import torch

from veridical.core.files import read_all
from veridical.models import Classifier

DATA = "planted(train=400, length=8)"


def test_vmask_as_its_published_code_does_it(veridical, trained, tmp_path):
    model, out = str(trained), tmp_path / "vmask"
    done = veridical(
        *("train", "--data", DATA, "--model", model, "--objective", "vmask(preset=ref_code)", "--out", out),
        *("--epochs", 1, "--batch-size", 8, "--rate", 1e-4, "--head-rate", 1e-3, "--checks", 4),
        *("--warmup", 0, "--weight-decay", 0, "--clip", 10),
    )
    assert done.returncode == 0, done.stderr
    assert "masked_accuracy" in done.stdout
    told = json.loads((out / "run.json").read_text())
    looks = [line["eval_masked_accuracy"] for line in told["history"] if "eval_masked_accuracy" in line]
    assert len(looks) == 4
    assert told["dev"]["masked_accuracy"] == max(looks)
    assert {"accuracy", "masked_accuracy"} <= told["test"].keys()  # alone, and with the mask in place
    before, after = (dict(Classifier.load(folder).model.named_parameters()) for folder in (model, out))
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved == {name for name in before if not name.startswith("bert.embeddings.")}


def test_a_model_says_which_layers_it_has(veridical, trained, tmp_path):
    why = tmp_path / "why.jsonl"
    done = veridical("explain", trained, "--method", "scc", "--data", DATA, "--out", why)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "scc has to be learned for a model, and this model has none of that name (it has: none)" in said
    assert "veridical train --objective scc" in said


def test_a_bottleneck_without_training(veridical, trained, tmp_path):
    why = tmp_path / "why.jsonl"
    done = veridical("explain", trained, "--method", "iba-per-sample", "--data", f"{DATA}:test[:3]", "--out", why)
    assert done.returncode == 0, done.stderr
    found = read_all(why)
    assert len(found) == 3
    assert all(min(each.scores) >= 0 for each in found)
    assert found[0].measures["queries"] == 102  # the prediction, a look at the embeddings, 10 steps with 10 copies
