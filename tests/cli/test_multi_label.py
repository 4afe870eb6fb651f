"""A model that gives any number of labels, from data to report card, as a user meets it."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veridical.core.files import read_all
from veridical.data import load
from veridical.run.train import train
from veridical.training import Schedule

VERIDICAL = Path(sys.executable).with_name("veridical")
WORDS = {"joy": ("happy", "lovely"), "anger": ("furious", "awful"), "news": ("today", "minister")}
FILLERS = ("the", "a", "house", "went", "it", "was", "of", "tree", "green", "walk")


def rows(seed, count):
    """Texts in which words decide labels: each label has words of its own, and every text has up to three labels."""
    chance = random.Random(seed)
    for _ in range(count):
        labels = [label for label in sorted(WORDS) if chance.random() < 0.5]
        words = [chance.choice(WORDS[label]) for label in labels] + chance.choices(FILLERS, k=6 - len(labels))
        chance.shuffle(words)
        yield {"text": " ".join(words), "label": labels}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("moods")
    for seed, (split, count) in enumerate({"train": 400, "dev": 60, "test": 24}.items()):
        lines = [json.dumps({"id": f"{split}-{number}", **row}) for number, row in enumerate(rows(seed, count))]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "moods"
    done = train(str(data), out, model="tiny", schedule=Schedule(epochs=8, checks=1))
    assert done.test["micro_f1"] > 0.9
    return out


@pytest.fixture(scope="module")
def gold(data):
    return {example.id: example.label for example in load(f"{data}:test")}


def test_training_tells_the_figures_of_sets(veridical, data, tmp_path):
    options = ("--model", "tiny", "--epochs", 1, "--checks", 1, "--out", tmp_path / "run")
    done = veridical("train", "--data", data, *options)
    assert done.returncode == 0, done.stderr
    assert all(figure in done.stdout for figure in ("micro_f1", "macro_f1", "accuracy"))


def test_predictions_have_any_number_of_labels(veridical, model):
    texts = ("the happy tree was furious", "it was the green tree house")
    done = veridical("predict", model, *texts)
    assert done.returncode == 0, done.stderr
    both, none = done.stdout.splitlines()
    assert both.startswith("anger, joy  (")
    assert none.startswith("no label  (")
    assert all(label in none for label in WORDS)
    first, second = (json.loads(line) for line in veridical("predict", model, *texts, "--json").stdout.splitlines())
    assert (first["labels"], second["labels"]) == (["anger", "joy"], [])
    assert min(first["probabilities"][label] for label in first["labels"]) >= 0.5


def explain(veridical, model, data, out, *options):
    return veridical("explain", model, "--data", f"{data}:test", "--method", "occlusion", "--out", out, *options)


def test_every_chosen_label_is_explained(veridical, model, data, tmp_path):
    out = tmp_path / "why.parquet"
    done = explain(veridical, model, data, out)
    assert done.returncode == 0, done.stderr
    found = read_all(out)
    assert f"{len(found)} explanations written" in done.stdout
    targets = {}
    for each in found:
        targets.setdefault(each.example_id, []).append(each.target)
    for each in found:
        chosen = [label for label, chance in each.probabilities.items() if chance >= 0.5]
        highest = max(each.probabilities, key=each.probabilities.__getitem__)
        assert targets[each.example_id] == (chosen or [highest])
        assert each.measures["targets"] == len(targets[each.example_id])
    assert len(targets) == 24
    assert any(len(several) > 1 for several in targets.values())
    again = explain(veridical, model, data, out)
    assert "0 explanations written" in again.stdout
    assert "24 examples were there already" in again.stdout


def test_a_reason_is_for_its_own_label(veridical, model, tmp_path):
    text = tmp_path / "one.jsonl"
    text.write_text(json.dumps({"id": "7", "text": "the happy tree was furious", "label": ["joy", "anger"]}) + "\n")
    out = tmp_path / "why.jsonl"
    assert veridical("explain", model, "--data", text, "--method", "occlusion", "--out", out).returncode == 0
    assert {each.target: each.top(1)[0][0].text for each in read_all(out)} == {"anger": "furious", "joy": "happy"}
    shown = veridical("show", out)
    assert shown.returncode == 0, shown.stderr
    lines = [line for line in shown.stdout.splitlines() if "example 7" in line]
    assert "predicted with joy" in lines[0]
    assert "predicted with anger" in lines[1]
    assert all("gold labels joy, anger" in line for line in lines)
    page = tmp_path / "page.html"
    assert veridical("show", out, "--html", page).returncode == 0
    written = page.read_text()
    assert "predicted with" in written
    assert "gold labels" in written


def test_a_label_by_name_and_gold_labels(veridical, model, data, gold, tmp_path):
    named, by_gold = tmp_path / "named.jsonl", tmp_path / "gold.jsonl"
    assert explain(veridical, model, data, named, "--target", "news").returncode == 0
    assert {each.target for each in read_all(named)} == {"news"}
    assert len(read_all(named)) == 24
    assert explain(veridical, model, data, by_gold, "--target", "gold").returncode == 0
    found = {}
    for each in read_all(by_gold):
        found.setdefault(each.example_id, []).append(each.target)
    assert all(sorted(found[example]) == sorted(labels) for example, labels in gold.items() if labels)
    assert all(len(found[example]) == 1 for example, labels in gold.items() if not labels)


def test_an_unknown_label_is_refused(veridical, model, data, tmp_path):
    done = explain(veridical, model, data, tmp_path / "why.jsonl", "--target", "sadness")
    assert done.returncode != 0
    assert "sadness" in done.stderr
    assert "anger, joy, news" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_killed_between_two_labels_it_goes_on(veridical, model, data, tmp_path, ending):
    whole, cut = tmp_path / "whole.jsonl", tmp_path / f"cut.{ending}"
    assert explain(veridical, model, data, whole).returncode == 0
    lines = whole.read_text().splitlines(keepends=True)
    found = read_all(whole)
    last = next(place for place, each in enumerate(found) if each.measures["targets"] > 1)
    # The rows of a Parquet file that is not finished are in a file of lines beside it.
    unfinished = cut if ending == "jsonl" else cut.with_name(cut.name + ".part")
    header = len(lines) - len(found)
    unfinished.write_text("".join(lines[: header + last + 1]))
    again = explain(veridical, model, data, cut)
    assert f"{len(found) - last - 1} explanations written" in again.stdout
    assert read_all(cut) == found
    assert "0 explanations written" in explain(veridical, model, data, cut).stdout


def audit(veridical, model, data, out, *options):
    methods = ("--methods", "attention, occlusion")
    return veridical("audit", model, "--data", f"{data}:test[:12]", *methods, "--out", out, "--timed", 1, *options)


def test_audit_gate_and_compare(veridical, model, data, gold, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    done = audit(veridical, model, data, one)
    assert done.returncode == 0, done.stderr
    told = json.loads((one / "audit.json").read_text())
    documents = told["documents"]
    assert [each["id"] for each in documents] == list(dict.fromkeys(each["id"] for each in documents))
    for each in documents:
        example = each["id"].removesuffix(f" [{each['target']}]")
        assert example != each["id"]
        assert tuple(each["label"]) == gold[example]
    assert len(documents) > 12
    card = (one / "card.html").read_text()
    assert sum(each["id"] in card for each in documents) >= 6  # the best and the worst are shown
    assert "predicted with" in card
    assert "depend on each other" in (one / "card.md").read_text()
    assert veridical("gate", one, "--min", "occlusion:comprehensiveness=-1").returncode == 0

    assert audit(veridical, model, data, two).returncode == 0
    compared = veridical("compare", one, two)
    assert compared.returncode == 0, compared.stderr
    assert "Both audits are of the same model" in " ".join(compared.stdout.split())

    work = told["work"]
    assert audit(veridical, model, data, one).returncode == 0
    again = json.loads((one / "audit.json").read_text())
    assert (again["documents"], again["work"]) == (documents, work)


def test_a_metric_that_needs_one_class_says_so(veridical, model, data, tmp_path):
    metrics = ("--metrics", "decision-flip, prediction-agreement, post-hoc-accuracy, log-odds, stability, attack")
    done = audit(veridical, model, data, tmp_path / "out", *metrics)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert list(told["skipped"]) == ["attack"]
    assert "any number of labels" in told["skipped"]["attack"]


def test_rationales_for_one_class_are_refused(veridical, model, tmp_path):
    done = veridical("fresh", model, "--out", tmp_path / "fresh")
    assert done.returncode != 0
    assert "any number of labels" in " ".join(done.stderr.split())
    assert not (tmp_path / "fresh").exists()


def test_a_model_is_checked(veridical, model):
    done = veridical("check", model)
    assert "fails with" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout


def test_a_killed_process_goes_on_to_the_same_file(model, data, tmp_path):
    def command(out):
        given = f"{data}:train[:300]"
        return [VERIDICAL, "explain", model, "--data", given, "--method", "lime(samples=200)", "--out", out]

    whole, cut = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    subprocess.run(command(whole), check=True, capture_output=True)
    process = subprocess.Popen(command(cut), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = cut.with_name(cut.name + ".part")
    while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > 20):
        time.sleep(0.01)
    process.kill()
    process.wait()
    there = len(read_all(cut))
    assert 0 < there < len(read_all(whole))  # the kill came in time
    done = subprocess.run(command(cut), check=True, capture_output=True, text=True)
    assert f"{len(read_all(whole)) - there} explanations written" in done.stdout
    assert read_all(cut) == read_all(whole)


def test_the_better_of_two_objectives_is_chosen(veridical, data, tmp_path):
    schedule = ("--model", "tiny", "--epochs", 2, "--checks", 1, "--seed", "0,1")
    both = ("--objective", "cross-entropy", "--objective", "random-erasure")
    wish = ("--by", "occlusion:decision-flip", "--documents", 10, "--out", tmp_path / "runs")
    done = veridical("choose", "--data", data, *schedule, *both, *wish)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "runs" / "choice.json").read_text())
    assert told["figure"] == "micro_f1"
    assert told["documents"] >= 10  # an example has a document for each of its labels
    assert [each["objective"] for each in told["candidates"]] == ["cross-entropy", "random-erasure"]
    assert all(len(each["means"]) == 2 for each in told["candidates"])
