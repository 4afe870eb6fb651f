"""`veridical fresh`, as a user meets it."""

import json

import pytest

DATA = "planted(train=400, length=8)"
QUICK = ["--epochs", 1, "--checks", 1]


def test_rationales_a_classifier_and_other_data(veridical, trained, tmp_path):
    out = tmp_path / "fresh"
    asked = [trained, "--out", out, "--ratio", 0.3, *QUICK, "--elsewhere", f"{DATA}:dev[:10]@0.5"]
    done = veridical("fresh", *asked)
    assert done.returncode == 0, done.stderr
    assert "the model itself, on whole texts: loss" in done.stdout
    assert f"{DATA}:dev[:10]: loss" in done.stdout
    assert "dev: loss" in done.stderr
    assert {"run.json", "rationales", "model"} <= {path.name for path in out.iterdir()}
    told = json.loads(veridical("fresh", *asked, "--json").stdout)
    assert told["trained"][0]["was_done"]
    assert told["left_out"] == []
    (figures,) = told["elsewhere"].values()
    assert figures[0].keys() == {"loss", "accuracy", "macro_f1"}
    record = json.loads((out / "run.json").read_text())
    assert record["extraction"]["ratio"] == 0.3
    (other,) = out.glob("rationales-planted-*")
    assert json.loads((other / "run.json").read_text())["extraction"]["ratio"] == 0.5


def test_texts_without_words_are_left_out_and_named(veridical, trained, tmp_path):
    rows = [
        {"text": f"a {word} day", "label": label} for word, label in [("good", "positive"), ("bad", "negative")] * 20
    ]
    lines = [json.dumps(row) for row in [*rows, {"text": "  ", "label": "positive"}]]
    (tmp_path / "data").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "data" / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    done = veridical("fresh", trained, "--data", tmp_path / "data", "--out", tmp_path / "fresh", *QUICK)
    assert done.returncode == 7, done.stderr
    assert done.stderr.count("left out: ") == 3
    assert "there are no words to explain" in done.stderr
    assert "on whole texts" not in done.stdout  # figures of the model are those of other data


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--ratio", 1.5], 2, "fresh(ratio=1.5) is beyond its limits"),
        (["--rationale", "best"], 2, "rationale is one of: top-k, contiguous"),
        (["--method", "atention"], 2, "Did you mean 'attention'?"),
        (["--elsewhere", "planted@half"], 2, "--elsewhere cannot be 'planted@half'"),
        (["--elsewhere", "planted:test@7"], 2, "ratio"),
        (["--report-to", "foo"], 2, "report_to is one of"),
        (["--data", "nothing"], 2, "unknown data set 'nothing'"),
    ],
)
def test_mistakes_are_named_before_anything_is_made(veridical, trained, tmp_path, options, code, words):
    done = veridical("fresh", trained, "--out", tmp_path / "fresh", *QUICK, *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "fresh").exists()


def test_a_folder_with_another_run_is_refused(veridical, trained):
    done = veridical("fresh", trained, "--out", trained, *QUICK)
    assert done.returncode == 2
    assert "holds another run, which differs in: job. Choose another --out." in " ".join(done.stderr.split())
