"""Scaffolding as a job: folders, going on, texts, pairs, numbers and images, and what is refused."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from veridical import EXPLAINERS, Classifier, audit, explain, load_data
from veridical.core.errors import InputError, UnsupportedError, UsageError
from veridical.core.progress import Watch
from veridical.run.scaffold import scaffold
from veridical.run.train import train
from veridical.simulation import ScaffoldPlan
from veridical.training import Schedule

DATA = "planted(train=60, dev=32, test=20, length=8)"
PLAN = ScaffoldPlan(rate=0.1, batch_size=8, epochs=2, outer_rate=1e-2)
GRADIENTS = replace(PLAN, explainer="gradients", beta=0.2, points=2)


@pytest.mark.parametrize("plan", [PLAN, GRADIENTS, replace(PLAN, last_layer=True, weighing="softmax")])
def test_its_folder_is_a_method_like_any_other(trained, tmp_path, plan):
    found = scaffold(trained, tmp_path / "smat", data=DATA, students=[24], plan=plan)
    [taught] = found.taught
    assert 0 <= taught.dev <= 1
    assert 0 <= taught.test <= 1
    assert taught.passes == 2
    assert taught.cost > 1
    texts = [example.inputs["text"] for example in load_data(DATA + ":test[:3]")]
    made = explain(trained, texts, method=tmp_path / "smat")
    alone = [explain(trained, [text], method=tmp_path / "smat")[0] for text in texts]
    for one, other in zip(made, alone, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-5)
        assert min(one.scores) >= 0
        assert sum(one.scores) <= 1 + 1e-5
    explainer = EXPLAINERS.load(tmp_path / "smat")
    assert explainer.weights().sum() == pytest.approx(1, abs=1e-5)
    assert not (tmp_path / "smat" / "students-24" / "seed-0" / "unfinished").exists()
    judged = audit(trained, load_data(DATA + ":test[:6]"), [tmp_path / "smat"], "comprehensiveness", timed=0)
    assert len(judged.documents) == 6


def test_each_number_of_examples_and_each_seed_has_one_and_the_median_is_chosen(trained, tmp_path):
    found = scaffold(trained, tmp_path / "smat", data=DATA, students=[24, 16], seeds=[0, 1, 2], plan=PLAN)
    assert [(each.students, each.seed) for each in found.taught] == [(n, seed) for n in (16, 24) for seed in (0, 1, 2)]
    largest = sorted((each for each in found.taught if each.students == 24), key=lambda each: each.dev)
    assert found.chosen == largest[1].out
    assert EXPLAINERS.load(tmp_path / "smat").fingerprint == EXPLAINERS.load(found.chosen).fingerprint
    assert len({EXPLAINERS.load(each.out).fingerprint for each in found.taught}) == 6


class StopsSeedOne(Watch):
    """It stops the second seed after its first pass."""

    def within(self, part):
        inner = super().within(part)
        if part.endswith("seed 1"):
            inner.note = self.stop
        return inner

    def stop(self, *_, **__):
        raise KeyboardInterrupt


def test_interrupted_it_goes_on_and_done_it_is_found(trained, tmp_path):
    calls = {"data": DATA, "students": [16], "seeds": [0, 1], "plan": PLAN}
    whole = scaffold(trained, tmp_path / "whole", **calls)
    with pytest.raises(KeyboardInterrupt):
        scaffold(trained, tmp_path / "parts", watch=StopsSeedOne(), **calls)
    told = json.loads((tmp_path / "parts" / "run.json").read_text())
    assert [each["seed"] for each in told["taught"]] == [0]
    again = scaffold(trained, tmp_path / "parts", **calls)
    assert [each.dev for each in again.taught] == [each.dev for each in whole.taught]
    for seed in (0, 1):
        one, other = (EXPLAINERS.load(tmp_path / name / "students-16" / f"seed-{seed}") for name in ("whole", "parts"))
        assert one.fingerprint == other.fingerprint
    assert scaffold(trained, tmp_path / "parts", **calls).was_done
    with pytest.raises(UsageError, match="another run, which differs in: students"):
        scaffold(trained, tmp_path / "parts", **{**calls, "students": [8]})


def test_labels_are_not_needed(trained, tmp_path):
    rows = [{"id": example.id, "text": example.inputs["text"]} for example in load_data(DATA + ":train")]
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    notes = []
    found = scaffold(
        trained,
        tmp_path / "smat",
        data=str(file),
        dev=DATA + ":dev",
        test=DATA + ":test",
        students=[16],
        plan=PLAN,
        watch=Watch(lambda told: notes.append(told.note)),
    )
    assert found.taught[0].test is not None
    assert any("no labels, and none are needed" in note for note in notes)


def written(folder, rows, train=40, dev=20):
    """The rows as a folder of splits."""
    lines = [json.dumps(row) for row in rows]
    parts = {"train": lines[:train], "dev": lines[train : train + dev], "test": lines[train + dev :]}
    for split, part in parts.items():
        (folder / f"{split}.jsonl").write_text("\n".join(part) + "\n")
    return str(folder)


def pairs(folder):
    return written(
        folder,
        [{"text": f"a {word} film", "text_pair": "so they say", "label": word} for word in ("good", "bad") * 35],
    )


@pytest.mark.parametrize("data", ["planted-images(train=40, dev=32, test=16)", pairs])
def test_images_and_pairs(tmp_path, data):
    data = data if isinstance(data, str) else data(tmp_path)
    train(data, tmp_path / "model", model="tiny", schedule=Schedule(epochs=12, batch_size=8, checks=1))
    classifier = Classifier.load(tmp_path / "model")
    found = scaffold(classifier, tmp_path / "smat", data=data, students=[16], plan=PLAN)
    [made] = explain(classifier, load_data(data + ":test[:1]"), method=found.out)
    assert len(made.scores) == len(made.units)


def test_numbers_are_simulated_by_their_correlation(tmp_path):
    rows = [{"text": f"{'good ' * (at % 5)}film number {at}", "label": at % 5 + at / 997} for at in range(60)]
    written(tmp_path, rows, train=30)
    train(str(tmp_path), tmp_path / "model", model="tiny", schedule=Schedule(epochs=8, batch_size=8, checks=1))
    plan = replace(PLAN, rate=0.01, epochs=4)
    [taught] = scaffold(tmp_path / "model", tmp_path / "smat", data=str(tmp_path), students=[24], plan=plan).taught
    assert -1 <= taught.dev <= 1
    assert taught.dev > 0.3
    metric = "simulability(seeds=1, rate=0.01, epochs=4, batch_size=8)"
    found = audit(tmp_path / "model", load_data(f"{tmp_path}:train"), [tmp_path / "smat"], metric, timed=0)
    [name] = [each.name for each in found.methods if found.has(found.metrics[0].name, each.name)]
    values = found.values(found.metrics[0].name, name)
    assert -1 <= np.nanmean(values) <= 1  # the correlation
    assert np.nanmax(np.abs(values)) > 1  # of products of standard deviations


def test_what_cannot_be_is_refused_before_anything_is_made(trained, tmp_path):
    out = tmp_path / "smat"
    with pytest.raises(UsageError, match="has 60 examples, and students should have 100"):
        scaffold(trained, out, data=DATA, students=[100], plan=PLAN)
    with pytest.raises(UnsupportedError, match="attentions"):
        box = Classifier.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
        scaffold(box, out, data=DATA, students=[16], plan=PLAN)
    with pytest.raises(InputError, match="fewer than a batch of 8"):
        scaffold(trained, out, data=DATA, students=[4], plan=PLAN)
    words = tmp_path / "words.jsonl"
    words.write_text("".join(json.dumps({"id": str(at), "text": f"blorptastic {at}"}) + "\n" for at in range(20)))
    embedded = replace(PLAN, student="embedded")
    with pytest.raises(UnsupportedError, match="cuts texts into other pieces"):
        scaffold(trained, out, data=str(words), dev=DATA + ":dev", students=[16], plan=embedded)
    assert not out.exists() or not list(out.glob("**/weights.safetensors"))


def test_an_explainer_is_refused_with_another_model(trained, tmp_path):
    scaffold(trained, tmp_path / "smat", data=DATA, students=[16], plan=PLAN)
    other = Classifier.load(trained)
    with torch.no_grad():
        next(other.model.parameters()).add_(0.01)
    with pytest.raises(UnsupportedError, match="was trained with the model"):
        explain(other, ["a text"], method=tmp_path / "smat")


@pytest.mark.parametrize(("plan", "rows"), [(PLAN, 2), (GRADIENTS, 4), (replace(PLAN, last_layer=True), 1)])
def test_a_page_draws_the_weights_it_has_learned(trained, tmp_path, plan, rows):
    found = scaffold(trained, tmp_path / "smat", data=DATA, students=[16], plan=replace(plan, epochs=1))
    page = (tmp_path / "smat" / "weights.html").read_text()
    explainer = EXPLAINERS.load(found.out)
    names, table = explainer.table()
    assert len(table) == rows
    assert sum(sum(row) for _, row in table) == pytest.approx(1, abs=1e-5)
    for name in (*names, *(name for name, _ in table)):
        assert f">{name}<" in page
    assert f"of {explainer.sources} sources are in use" in page


TOGETHER = f"""
import sys
from veridical.run.scaffold import scaffold
from veridical.simulation import ScaffoldPlan

plan = ScaffoldPlan(rate=0.1, batch_size=8, epochs=2, outer_rate=1e-2)
scaffold(sys.argv[1], sys.argv[2], data="{DATA}", students=[24], plan=plan)
"""


def test_two_processes_find_what_one_finds(trained, tmp_path):
    """They share each batch, and the tiny model drops nothing out: so the explainer is the same but for rounding."""
    script = tmp_path / "script.py"
    script.write_text(TOGETHER)
    start_two = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *start_two, str(script), str(trained), str(tmp_path / "two")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    alone = scaffold(trained, tmp_path / "one", data=DATA, students=[24], plan=PLAN)
    one, two = (EXPLAINERS.load(tmp_path / name) for name in ("one", "two"))
    assert not torch.equal(one.weights(), torch.full((8,), 1 / 8))
    torch.testing.assert_close(two.weights(), one.weights(), atol=1e-4, rtol=0)
    told = json.loads((tmp_path / "two" / "run.json").read_text())
    assert told["taught"][0]["dev"] == pytest.approx(alone.taught[0].dev)
