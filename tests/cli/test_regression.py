"""A model that gives a number, on the command line: the number is shown, and audited by metrics that suit it."""

import json
import random

import pytest

WORTH = {"lovely": 1.0, "fine": 0.4, "dull": -0.6, "awful": -1.1}


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """A folder with texts whose number is the sum of what their words are worth, and a model that has learnt it."""
    from veridical.run.train import train
    from veridical.training import Schedule

    folder, chance = tmp_path_factory.mktemp("stars"), random.Random(0)
    rows = ["text,label"]
    for _ in range(300):
        words = [chance.choice(["the", "film", "and", "with", *WORTH]) for _ in range(6)]
        rows.append(f"{' '.join(words)},{sum(WORTH.get(word, 0.0) for word in words):.2f}")
    (folder / "stars.csv").write_text("\n".join(rows))
    done = train(str(folder / "stars.csv"), folder / "model", model="tiny", schedule=Schedule(epochs=6, checks=1))
    assert done.test["pearson"] > 0.9
    return folder


def test_the_number_is_predicted(veridical, stars):
    low, high = veridical("predict", stars / "model", "an awful film", "a lovely film").stdout.splitlines()
    number, _, text = high.partition("  ")
    assert text == "a lovely film"
    assert float(number) > float(low.partition("  ")[0])
    told = json.loads(veridical("predict", stars / "model", "a lovely film", "--json").stdout)
    assert float(number) == pytest.approx(told["value"], abs=1e-4)


def test_the_number_is_shown_with_its_explanation(veridical, stars, tmp_path):
    data, out = f"{stars}/stars.csv:test[:2]", tmp_path / "why.jsonl"
    assert veridical("explain", stars / "model", "--data", data, "--method", "occlusion", "--out", out).returncode == 0
    told = json.loads(veridical("show", out, "--json", "--limit", 1).stdout)
    number = f"value {told['measures']['output']:.4g}, gold value {told['label']:.4g}"
    assert number in veridical("show", out).stdout
    page = tmp_path / "why.html"
    veridical("show", out, "--html", page)
    assert f"{told['measures']['output']:.4g}" in page.read_text()
    assert "gold value" in page.read_text()


def test_the_usual_metrics_are_those_of_numbers(veridical, stars, tmp_path):
    data = f"{stars}/stars.csv:test[:10]"
    done = veridical("audit", stars / "model", "--data", data, "--out", tmp_path, "--methods", "occlusion", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["summary"]
    assert [table["metric"] for table in found["tables"]] == [
        "aopc(cumulative=true)",
        "aopc(eraser=mask, cumulative=true)",
        "aopc(eraser=pad_attn, cumulative=true)",
        "leave-one-out-tau",
    ]
    assert not any("one class" in warning for warning in found["warnings"])
    means = {cell["method"]: cell["mean"] for cell in found["tables"][0]["cells"] if cell["order"] == "given"}
    assert means["occlusion"] > means["random"]
    card = (tmp_path / "card.md").read_text()
    assert "(×100)" not in card
    assert "Only one class" not in card


def test_default_may_stand_among_others(veridical, stars, tmp_path):
    asked = ["--metrics", "default, stability", "--methods", "occlusion", "--timed", 0]
    done = veridical("audit", stars / "model", "--data", f"{stars}/stars.csv:test[:6]", "--out", tmp_path, *asked)
    assert done.returncode == 0, done.stderr
    for name in ("leave-one-out-tau", "stability"):
        assert name in done.stdout
