"""Data as it is, on the command line: what is said of it, where, and how often."""

import json

import pytest


@pytest.fixture
def tweets(tmp_path):
    """A file with ids that occur twice, some of them with other texts."""
    rows = [(number % 50, f"tweet {number % 60}", "ab"[number % 2]) for number in range(120)]
    lines = [json.dumps({"id": id, "text": text, "label": label}) for id, text, label in rows]
    (tmp_path / "tweets.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "tweets.jsonl"


def test_what_became_of_repeated_ids_is_a_note(veridical, trained, tweets):
    done = veridical("predict", trained, "--data", tweets, "--json")
    assert done.returncode == 0, done.stderr
    ids = [json.loads(line)["example_id"] for line in done.stdout.splitlines()]
    assert len(ids) == len(set(ids))
    assert "0 (2)" in ids
    assert done.stderr.startswith(f"note: {tweets}: ")
    assert "have the id of another and other content" in done.stderr
    assert "Warning" not in done.stderr
    assert veridical("predict", trained, "--data", f"{tweets}(id=none)").stderr == ""


def test_training_reads_all_splits_and_says_it_once(veridical, tweets, tmp_path):
    done = veridical("train", "--data", tweets, "--model", "tiny", "--epochs", 1, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("note: ") == 1


def test_going_on_finds_the_same_ids(veridical, trained, tweets, tmp_path):
    explain = ["explain", trained, "--method", "occlusion", "--out", tmp_path / "why.jsonl", "--json", "--data"]
    first = json.loads(veridical(*explain, f"{tweets}:test[:2]").stdout)
    again = json.loads(veridical(*explain, f"{tweets}:test[:2]").stdout)
    assert (first["written"], again["written"], again["resumed"]) == (2, 0, 2)


def test_the_beginning_of_a_sorted_file_suggests_a_draw(veridical, tmp_path):
    rows = [f"text {at},{label}" for label in ("a", "b") for at in range(40)]
    for split in ("train", "dev"):
        (tmp_path / f"{split}.csv").write_text("\n".join(["text,label", *rows]))
    done = veridical("train", "--data", f"{tmp_path}:train[:30]", "--model", "tiny", "--out", tmp_path / "run")
    assert done.returncode == 3
    assert f"{tmp_path}:train[30@0] takes as many at random" in done.stderr
    assert "all training examples have the label 'a'" in done.stderr
    assert "[30@0]" in done.stderr.partition("error:")[2]


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ("text;label\na, b;x\n", 2, "';' seems to stand between several"),
        ("text,label\na,0.5\nb,nan\n", 3, "line 3: the label 'nan' is not a finite number"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(veridical, trained, tmp_path, content, code, words):
    (tmp_path / "mine.csv").write_text(content)
    done = veridical("predict", trained, "--data", tmp_path / "mine.csv")
    assert (done.returncode, words in done.stderr) == (code, True)
