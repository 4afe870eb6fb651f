"""`veridical compare` as a user meets it."""

import json

import pytest
import torch

from veridical import Classifier, Engine, load_data
from veridical.audits.job import audit

DATA = "planted(train=400, length=8):test[:12]"
METRICS = "comprehensiveness, comprehensiveness(eraser=pad_attn), decision-flip"
METHODS = "integrated-gradients(steps=4), occlusion"


@pytest.fixture(scope="module")
def audits(trained, tmp_path_factory):
    """The folders of two models' audits on the same data, and of one with other options, and of other data."""
    folder = tmp_path_factory.mktemp("audits")
    model, other = Classifier.load(trained), Classifier.load(trained)
    with torch.no_grad():
        for weights in other.model.parameters():
            weights.mul_(0.9)
    audit(model, load_data(DATA), METHODS, METRICS, out=folder / "one", timed=0)
    audit(other, load_data(DATA), METHODS, METRICS, out=folder / "two", timed=0)
    audit(other, load_data(DATA), "occlusion", "comprehensiveness(ratios=[0.5])", out=folder / "options", timed=0)
    audit(model, ["good day sun"], "occlusion", "decision-flip", out=folder / "texts", timed=0)
    return folder


def test_every_line_can_be_told_apart_in_a_narrow_terminal(veridical, audits):
    done = veridical("compare", audits / "one", audits / "two")
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert {"comprehensiveness", "comprehensiveness(eraser=pad_attn)", "decision-flip"} <= set(lines)
    assert sum(line.startswith("integrated-gradients(steps=4) ") for line in lines) == 3
    assert "…" not in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    assert "they do not rank models" in " ".join(done.stdout.split())


@pytest.mark.parametrize(("ending", "begins"), [(".html", "<!doctype html>"), (".md", "#"), (".json", "{")])
def test_files(veridical, audits, tmp_path, ending, begins):
    goal = tmp_path / f"both{ending}"
    done = veridical("compare", audits / "one", audits / "two", "--out", goal)
    assert done.returncode == 0, done.stderr
    assert goal.read_text(encoding="utf-8").lower().startswith(begins)


def test_an_ending_without_a_format_is_refused_before_the_work(veridical, audits, tmp_path):
    done = veridical("compare", audits / "one", audits / "two", "--out", tmp_path / "both.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert "It ends in one of: .html, .md, .json" in done.stderr
    assert not (tmp_path / "both.txt").exists()


def test_json(veridical, audits):
    done = veridical("compare", audits / "one", audits / "two", "--json")
    told = json.loads(done.stdout, parse_constant=pytest.fail)
    assert (told["documents"], len(told["differences"])) == (12, 9)


def test_a_model_with_itself_is_not_told_apart(veridical, audits):
    done = veridical("compare", audits / "one", audits / "one", "--json")
    told = json.loads(done.stdout)
    assert {each["contrast"]["verdict"] for each in told["differences"]} == {"cannot tell"}
    assert set(told["likeness"].values()) == {1.0}


def test_other_options_are_left_out_and_said_once_per_reason(veridical, audits):
    done = veridical("compare", audits / "one", audits / "options")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "Nothing can be compared" in said
    assert "corrected p" not in said
    assert "the audits differ in" in said
    assert said.count("only the first audit has it") == 1


def test_audits_of_other_texts_are_refused(veridical, audits):
    done = veridical("compare", audits / "one", audits / "texts")
    assert done.returncode == 3
    assert "share no document" in done.stderr


def test_folders_that_are_no_audits(veridical, audits, trained, tmp_path):
    for folder in (trained, tmp_path / "nothing"):
        done = veridical("compare", audits / "one", folder)
        assert done.returncode == 3
        assert "is not an audit" in done.stderr


def test_another_target_or_other_units_are_refused_and_another_precision_is_said(veridical, audits, trained, tmp_path):
    asked = (load_data(DATA), "occlusion", "decision-flip")
    audit(trained, *asked, out=tmp_path / "gold", target="gold", timed=0)
    audit(Classifier.load(trained, units="token"), *asked, out=tmp_path / "pieces", timed=0)
    audit(trained, *asked, out=tmp_path / "bf16", timed=0, engine=Engine(precision="bf16"))
    done = veridical("compare", audits / "one", tmp_path / "gold")
    assert (done.returncode, done.stdout) == (3, "")
    assert "target is 'predicted' in the first and 'gold' in the second" in " ".join(done.stderr.split())
    done = veridical("compare", audits / "one", tmp_path / "pieces")
    assert done.returncode == 3
    assert "Audit both models with the same units" in " ".join(done.stderr.split())
    done = veridical("compare", audits / "one", tmp_path / "bf16")
    assert done.returncode == 0
    assert "The first audit ran its model in fp32, the second in bf16" in " ".join(done.stdout.split())
