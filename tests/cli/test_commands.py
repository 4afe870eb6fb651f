"""The command line, as a user meets it: exit codes and words on the screen."""

import gc
import io
import json
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from veridical.cli import progress
from veridical.core.files import ExplanationWriter, read
from veridical.run.job import Result

DATA = "planted(train=400, length=8)"
VERIDICAL = str(Path(sys.executable).with_name("veridical"))


def test_train_predict_explain_show(veridical, tmp_path):
    run = tmp_path / "run"
    options = ["--data", DATA, "--model", "tiny", "--epochs", 4, "--checks", 1]
    done = veridical("train", *options, "--out", run)
    assert done.returncode == 0, done.stderr
    assert "test  loss" in done.stdout
    assert "dev: loss" in done.stderr
    assert "already trained" in veridical("train", *options, "--out", run).stdout

    said = json.loads(veridical("predict", run, "such an awful day", "--json").stdout)
    assert said["labels"] == ["negative"]
    assert "negative" in veridical("predict", run, "such an awful day").stdout

    why = tmp_path / "why.parquet"
    done = veridical("explain", run, "--data", f"{DATA}:test[:20]", "--method", "integrated-gradients", "--out", why)
    assert done.returncode == 0, done.stderr
    assert "20 explanations written" in done.stdout
    again = veridical("explain", run, "--data", f"{DATA}:test[:20]", "--method", "integrated-gradients", "--out", why)
    assert "0 explanations written" in again.stdout
    assert "20 examples were there already" in again.stdout

    shown = veridical("show", why, "--top", 3, "--limit", 2)
    assert shown.returncode == 0
    assert shown.stdout.count("top:") == 2
    page = tmp_path / "page.html"
    assert "20 explanations in" in veridical("show", why, "--html", page).stdout
    assert page.read_text().startswith("<!DOCTYPE html>")
    rows = [json.loads(line) for line in veridical("show", why, "--json").stdout.splitlines()]
    assert len(rows) == 20
    assert rows[0]["units"][0]["text"]
    assert rows[0]["units"][0]["margin"] is None
    assert abs(rows[0]["measures"]["residual"]) < abs(rows[0]["measures"]["difference"])
    assert "adds up to" in shown.stdout
    assert "residual" in page.read_text()

    other = tmp_path / "other.jsonl"
    assert (
        veridical("explain", run, "--data", f"{DATA}:test[:20]", "--method", "random", "--out", other).returncode == 0
    )
    beside = ["--side-by-side", "--top", 4]
    assert "6 explanations in" in veridical("show", why, other, *beside, "--limit", 3, "--html", page).stdout
    assert (page.read_text().count("<tr"), page.read_text().count("<td>")) == (4, 6)
    assert veridical("show", why, other, "--limit", 2, "--top", 1).stdout.count("top:") == 4
    refused = veridical("show", why, other, *beside)
    assert refused.returncode == 2
    assert "Add --html page.html" in refused.stderr

    options = ["--data", f"{DATA}:test[:1]", "--method", "lime(samples=50)"]
    assert veridical("explain", run, *options, "--out", tmp_path / "lime.jsonl").returncode == 0
    (row,) = (json.loads(line) for line in veridical("show", tmp_path / "lime.jsonl", "--json").stdout.splitlines())
    assert all(unit["margin"] > 0 for unit in row["units"])


@pytest.mark.parametrize(
    "what", ["explainers", "metrics", "metric-sets", "data", "models", "erasers", "objectives", "saliences"]
)
def test_list_comes_from_the_registries(veridical, what):
    rows = json.loads(veridical("list", what, "--json").stdout)[what]
    assert rows
    shown = veridical("list", what)
    assert all(row["name"] in shown.stdout for row in rows)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["explain", "{run}", "--data", "nothing", "--out", "w.jsonl"], 2, "unknown data set 'nothing'"),
        (
            ["explain", "{run}", "--data", "planted", "--method", "lim", "--out", "w.jsonl"],
            2,
            "unknown explainer 'lim'",
        ),
        (["explain", "{run}", "--data", "planted", "--method", "occlusion(", "--out", "w.jsonl"], 2, "character 11"),
        (["explain", "{run}", "--data", "planted[:2]", "--target", "maybe", "--out", "w.jsonl"], 2, "no class 'maybe'"),
        (["explain", "{run}", "--data", "planted[:2]", "--out", "w.txt"], 2, "w.txt"),
        (["explain", "{run}", "--data", "no.csv", "--out", "w.jsonl"], 3, "no file or folder no.csv"),
        (["explain", "{run}", "--data", "bad.jsonl", "--out", "w.jsonl"], 3, "line 2"),
        (["explain", "{run}", "--data", "bad.csv(text=review)", "--out", "w.jsonl"], 2, "There are: text, label"),
        (["train", "--data", "planted", "--model", "tinny", "--out", "new"], 2, "Did you mean 'tiny'?"),
        (
            ["choose", "--data", "planted", "--model", "embeded", "--out", "new", "--objective", "regex"],
            2,
            "'embedded'?",
        ),
        (["predict", "tiny", "x"], 2, "'tiny' is not trained yet"),
        (["predict", "{run}l/model", "x"], 6, "there is no folder"),
        (["train", "--data", "planted", "--objective", "salos", "--out", "new"], 2, "Did you mean 'saloss'?"),
        (["audit", "{run}", "--data", "planed", "--out", "new"], 2, "Did you mean 'planted'"),
        (["audit", "{run}", "--data", "planted", "--methods", "lime, occlusoin", "--out", "new"], 2, "'occlusion'?"),
        (
            ["audit", "{run}", "--data", "planted", "--metrics", "default,aopcc", "--out", "new"],
            2,
            "Did you mean 'aopc'",
        ),
        (["fresh", "{run}", "--method", "lrpp", "--out", "new"], 2, "Did you mean 'lrp'?"),
        (["explain", "nowhere/model", "--data", "planted[:2]", "--out", "w.jsonl"], 6, "nowhere/model"),
        (["show", "no.parquet"], 3, "no.parquet"),
        (["show", "bad.csv"], 2, "bad.csv"),
        (
            ["show", "changed.jsonl"],
            5,
            "line 3 of changed.jsonl is not an explanation: its target is 7, and not a text",
        ),
        (["predict", "{run}"], 2, "give texts, or --data"),
        (["show", "why.jsonl", "--limit", "-1"], 2, "--limit"),
        (["show", "why.jsonl", "--limit", "0"], 2, "--limit"),
        (["show", "why.jsonl", "--top", "-1"], 2, "--top"),
        (["explain", "{run}", "--data", "planted[:2]", "--tokens", "0", "--out", "w.jsonl"], 2, "--tokens"),
        (["predict", "{run}", "x", "--long", "sideways"], 2, "--long cannot be 'sideways'"),
        (["train", "--data", "planted", "--out", "new", "--pooling", "max"], 2, "--pooling cannot be 'max'"),
        (["train", "--data", "planted", "--out", "new", "--report-to", "foo"], 2, "report_to=foo"),
    ],
)
def test_mistakes_end_with_a_sentence_and_a_code(veridical, trained, tmp_path, arguments, code, words):
    (tmp_path / "bad.jsonl").write_text('{"text": "fine", "label": "a"}\n{"text": \n')
    (tmp_path / "bad.csv").write_text("text,label\nfine,a\n")
    ExplanationWriter(tmp_path / "why.jsonl").close()
    row = {"example_id": "1", "spec": "s", "source": "x", "target": 7, "label": None, "measures": {}, "units": []}
    more = [{"spec_key": "s", "spec": {}}, {**row, "inputs": {}, "probabilities": {}}]
    header = (tmp_path / "why.jsonl").read_text()
    (tmp_path / "changed.jsonl").write_text(header + "".join(f"{json.dumps(line)}\n" for line in more))
    done = veridical(*[part.format(run=trained) for part in arguments], cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_head_that_reads_the_mean_from_training_to_explaining(veridical, tmp_path):
    run, why = tmp_path / "run", tmp_path / "why.jsonl"
    options = ["--data", "planted(train=200, length=6)", "--model", "tiny", "--epochs", 8, "--pooling", "mean"]
    done = veridical("train", *options, "--out", run)
    assert done.returncode == 0, done.stderr
    assert json.loads((run / "veridical.json").read_text())["pooling"] == "mean"
    assert json.loads((run / "run.json").read_text())["settings"] == {"pooling": "mean"}
    done = veridical("explain", run, "--data", "planted:test[:2]", "--method", "attention", "--out", why)
    assert done.returncode == 0, done.stderr
    assert {made.spec["model"]["pooling"] for made in read(why)} == {"mean"}
    other = veridical("train", *options[:-2], "--pooling", "cls", "--out", run)
    assert other.returncode == 2
    assert "holds another run, which differs in: settings" in " ".join(other.stderr.split())


def test_few_steps_are_said_before_and_after(veridical, tmp_path):
    asked = ["--data", "planted(train=40, length=5)", "--model", "tiny", "--epochs", 1, "--out", tmp_path / "run"]
    done = veridical("train", *asked)
    note = "40 examples in batches of 32 give 2 steps in 1 epoch, and a new head needs 50 or more."
    assert f"training, 0/2 {note}" in " ".join(done.stderr.split())
    assert f"note: {note} Try --batch-size 8 --epochs 10." in done.stdout
    assert veridical("train", *asked).stdout.count(note) == 1  # found again
    assert json.loads(veridical("train", *asked, "--json").stdout)["notes"][0].startswith(note)


def test_bad_examples_are_reported_and_the_rest_is_done(veridical, trained, tmp_path):
    lines = [{"text": "a good day"}, {"text": " "}, {"text": "cut \ud83d off"}, {"text": "an awful day"}]
    (tmp_path / "mine.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    done = veridical(
        "explain", trained, "--data", "mine.jsonl", "--out", "why.jsonl", "--method", "gradient", cwd=tmp_path
    )
    assert done.returncode == 7, done.stderr
    assert "2 explanations written" in done.stdout
    assert "not explained: example 2: there are no words to explain" in done.stderr
    assert "half of a surrogate pair" in done.stderr
    assert "not explained" not in done.stdout


def test_of_many_bad_examples_a_few_are_shown(veridical, trained, tmp_path):
    lines = [{"text": "a good day"}, *[{"text": " "}] * 8]
    (tmp_path / "mine.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    asked = ["explain", trained, "--data", "mine.jsonl", "--out", "why.jsonl", "--method", "gradient"]
    done = veridical(*asked, cwd=tmp_path)
    assert done.returncode == 7
    assert done.stderr.count("not explained: example ") == 5
    assert done.stderr.endswith("not explained: and 3 more\n")
    assert len(json.loads(veridical(*asked, "--json", cwd=tmp_path).stdout)["failures"]) == 8


def test_precision_and_units_are_written_into_the_spec(veridical, trained, tmp_path):
    path = tmp_path / "why.jsonl"
    asked = ["explain", trained, "--data", "planted(length=8):test[:2]", "--out", path, "--method", "gradient"]
    for flags in ([], ["--bf16"], ["--units", "token"]):
        assert veridical(*asked, *flags).returncode == 0
    rows = list(read(path))
    specs = [(row.spec["precision"], row.spec["model"]["units"]) for row in rows[::2]]
    assert specs == [("fp32", "word"), ("bf16", "word"), ("fp32", "token")]
    assert rows[0].scores != rows[2].scores
    assert rows[0].scores == pytest.approx(rows[2].scores, rel=0.1)  # bfloat16 has eight bits


def test_a_failing_example_is_said_again_without_asking_the_model(veridical, trained, tmp_path):
    lines = [{"text": "a good day"}, {"text": " "}]
    (tmp_path / "mine.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    asked = ["explain", trained, "--data", "mine.jsonl", "--out", "why.jsonl", "--method", "occlusion"]
    first = veridical(*asked, cwd=tmp_path)
    again = veridical(*asked, cwd=tmp_path)
    assert (first.returncode, again.returncode) == (7, 7)
    assert "0 explanations written" in again.stdout
    assert "0 queries, 0 model inputs run" in again.stdout
    assert first.stderr == again.stderr
    assert first.stderr.startswith("not explained: example 2: ")


def test_the_number_of_words_and_explanations_is_as_asked(veridical, trained, tmp_path):
    asked = ["--data", f"{DATA}:test[:25]", "--method", "gradient", "--out", tmp_path / "why.jsonl"]
    assert veridical("explain", trained, *asked).returncode == 0
    assert veridical("show", tmp_path / "why.jsonl").stdout.count("top:") == 20
    assert veridical("show", tmp_path / "why.jsonl", "--limit", 1).stdout.count("top:") == 1
    assert veridical("show", tmp_path / "why.jsonl", "--limit", 1, "--top", 0).returncode == 0


def test_several_seeds_are_trained_apart(veridical, tmp_path):
    asked = ["--data", "planted(train=40, length=5)", "--model", "tiny", "--epochs", 1, "--checks", 1, "--seed", "0,1"]
    asked += ["--out", tmp_path / "run", "--warmup", 0, "--accumulate", 2]
    done = veridical("train", *asked)
    assert done.returncode == 0, done.stderr
    assert "mean (std) of 2 seeds" in done.stdout
    assert "seed 1: training" in done.stderr
    record = json.loads((tmp_path / "run" / "seed-1" / "run.json").read_text())
    assert (record["schedule"]["seed"], record["schedule"]["warmup"], record["schedule"]["accumulate"]) == (1, 0, 2)
    told = json.loads(
        veridical("train", *asked, "--out", tmp_path / "run", "--warmup", 0, "--accumulate", 2, "--json").stdout
    )
    assert [each["was_done"] for each in told] == [True, True]


def test_interrupting_keeps_what_was_finished(veridical, trained, tmp_path):
    data = "planted(train=400, length=8, test=3000):test"
    command = [VERIDICAL, "explain", str(trained), "--data", data, "--out", "why.parquet"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background of a shell inherit that interruptions are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    journal = tmp_path / "why.parquet.part"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size > 100_000):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "run the same command again" in " ".join(errors.split())
    rows = veridical("show", "why.parquet", "--json", cwd=tmp_path).stdout.splitlines()
    assert 0 < len(rows) < 3000


def test_two_processes_do_not_write_the_same_file(trained, tmp_path):
    command = [VERIDICAL, "explain", str(trained), "--data", "planted:test[:2]", "--out", str(tmp_path / "why.parquet")]
    with ExplanationWriter(tmp_path / "why.parquet"):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert "why.parquet" in done.stderr


def test_a_full_disk(veridical, trained, tmp_path):
    (tmp_path / "why.jsonl").symlink_to("/dev/full")
    done = veridical("explain", trained, "--data", "planted:test[:2]", "--out", tmp_path / "why.jsonl")
    assert done.returncode == 5, done.stderr
    assert "space" in done.stderr


def test_a_truncated_checkpoint(veridical, trained, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in trained.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    done = veridical("predict", copy, "x")
    assert done.returncode == 6
    assert "cannot load" in done.stderr


def test_a_model_with_code_of_its_own_is_refused_without_a_question(veridical, trained, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    shutil.copytree(trained, folder)
    config = json.loads((folder / "config.json").read_text())
    named = {**config, "model_type": "foreign", "auto_map": {"AutoConfig": "foreign.Config"}}
    (folder / "config.json").write_text(json.dumps(named))
    (folder / "foreign.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')")
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n" * 9))
    done = veridical("predict", folder, "a good film")
    assert done.returncode == 6
    assert "brings code of its own (auto_map in config.json)" in done.stderr
    assert "Do you wish" not in done.stdout + done.stderr
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["list"], 0),
        (["list", "metrics", "aopc"], 0),
        (["predict", "tiny", "x"], 2),
        (["train", "--data", "planted", "--model", "tinny", "--out", "x"], 2),
        (["explain", "org/model", "--data", "planed", "--out", "x.jsonl"], 2),
        (["explain", "org/model", "--data", "planted", "--method", "lim", "--out", "x.jsonl"], 2),
        (["audit", "org/model", "--data", "planted", "--metrics", "aopcc", "--out", "x"], 2),
    ],
)
def test_what_is_quick_needs_no_torch(arguments, code, tmp_path):
    lines = ["import sys", f"sys.argv = ['veridical', *{arguments!r}]", "import veridical.cli.main as m"]
    lines += ["try: m.run()", "except SystemExit as stop: code = stop.code or 0", "else: code = 0"]
    lines += [f"assert code == {code}, code", "assert 'torch' not in sys.modules"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_version(veridical):
    assert veridical("--version").stdout == f"veridical {version('veridical')}\n"


@pytest.mark.parametrize("arguments", [[], ["predict"], ["train"], ["list"]])
def test_help_is_found_by_its_short_name_too(veridical, arguments):
    short, long = veridical(*arguments, "-h"), veridical(*arguments, "--help")
    assert short.returncode == 0
    assert short.stdout == long.stdout
    assert "Usage: " in short.stdout


def test_garbage_is_collected_as_usual_while_a_job_runs_and_after_it(veridical, trained, monkeypatch):
    usual, seen = gc.get_threshold(), []
    monkeypatch.setattr("veridical.run.predict.PredictJob.do", lambda *_: seen.append(gc.get_threshold()) or Result(()))
    assert veridical("predict", trained, "x").returncode == 0
    assert seen == [usual]
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() == 0
    monkeypatch.setattr("veridical.data.load", lambda _: seen.append(gc.get_threshold()) or [])
    veridical("predict", trained, "--data", "planted")
    assert seen[-1][0] > usual[0]


def test_long_jobs_tell_plain_lines_in_a_pipe(veridical, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    monkeypatch.setattr(progress, "_SHORT", 0.0)
    asked = ["--data", "planted:test[:4]", "--method", "gradient", "--out", tmp_path / "why.jsonl"]
    said = veridical("explain", trained, *asked).stderr.splitlines()
    assert said[0] == "explaining by gradient, 0/4"
    assert said[-1].startswith("explaining by gradient, 4/4, after 0:0")
    said = veridical("predict", trained, "--data", "planted:test[:4]").stderr.splitlines()
    assert said[0] == "predicting, 0/4"
