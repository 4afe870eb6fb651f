"""Images through the commands: train with a mask layer, explain by it, look at the map, audit."""

import json

import numpy as np
import pytest

NAMES = ("scc", "vmask", "l2x", "iba")


@pytest.fixture
def shapes(tmp_path, monkeypatch):
    """The name of a set of coloured images, of which each half has a class, in a shared directory."""
    random, arrays = np.random.default_rng(0), {"classes": np.array(["left", "right"])}
    for split, count in (("train", 64), ("dev", 16), ("test", 16)):
        labels = np.arange(count) % 2
        images = random.integers(0, 60, (count, 8, 8, 3), dtype=np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[:, 4 * label : 4 * label + 4] += 180
        arrays |= {f"{split}_images": images, f"{split}_labels": labels}
    (tmp_path / "data" / "shapes").mkdir(parents=True)
    np.savez(tmp_path / "data" / "shapes" / "data.npz", **arrays)
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path / "data"))
    return "shapes"


@pytest.mark.parametrize("name", NAMES)
def test_from_training_to_the_audit(veridical, shapes, tmp_path, name):
    run, why, page = tmp_path / "run", tmp_path / "why.jsonl", tmp_path / "page.html"
    options = ["--objective", name, "--model", "tiny", "--epochs", 4, "--batch-size", 8, "--checks", 1]
    assert veridical("train", "--data", shapes, *options, "--out", run).returncode == 0
    done = veridical("explain", run, "--method", name, "--data", f"{shapes}:test[:3]", "--out", why)
    assert "3 explanations written" in done.stdout, done.stderr
    assert "3 queries" in done.stdout  # no more than to predict
    rows = [json.loads(line) for line in veridical("show", why, "--json").stdout.splitlines()]
    assert [len(row["units"]) for row in rows] == [16] * 3
    assert all(unit["field"] == "image" for unit in rows[0]["units"])
    assert veridical("show", why, "--html", page).returncode == 0
    assert page.read_text().count("<rect") == 48
    options = ["--methods", f"{name},random", "--metrics", "comprehensiveness", "--data", f"{shapes}:test[:4]"]
    done = veridical("audit", run, *options, "--out", tmp_path / "audit")
    assert done.returncode == 0, done.stderr
    assert "report card" in done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_digits_train_with_a_layer(veridical, tmp_path, name):
    options = ["--objective", name, "--model", "tiny", "--epochs", 1, "--checks", 1, "--dev", "digits:dev[:20]"]
    assert veridical("train", "--data", "digits:train[:64]", *options, "--out", tmp_path / "run").returncode == 0
    done = veridical(
        "explain", tmp_path / "run", "--method", name, "--data", "digits:test[:2]", "--out", "why.jsonl", cwd=tmp_path
    )
    assert "2 explanations written" in done.stdout, done.stderr
