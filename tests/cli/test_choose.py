"""`veridical choose`, as a user meets it."""

import json

DATA = ["--data", "planted(train=120, length=6)", "--model", "tiny", "--epochs", 1, "--checks", 1]
BOTH = ["--objective", "cross-entropy", "--objective", "saloss(lam=5)"]


def test_the_best_is_said_and_kept(veridical, tmp_path):
    asked = [*DATA, *BOTH, "--by", "attention:decision-flip", "--documents", 8, "--out", tmp_path / "runs"]
    done = veridical("choose", *asked)
    assert done.returncode == 0, done.stderr
    assert "↓ attention: decision-flip" in done.stdout.replace("\n", " ")
    told = json.loads(veridical("choose", *asked, "--json").stdout)
    assert f"best, by 8 documents that all have: {told['best']['objective']}" in done.stdout
    assert told == json.loads((tmp_path / "runs" / "choice.json").read_text())
    assert all(each["trained"][0]["was_done"] for each in told["candidates"])


def test_a_wish_that_names_no_metric_is_refused(veridical, tmp_path):
    done = veridical("choose", *DATA, *BOTH, "--by", "attention", "--out", tmp_path / "runs")
    assert done.returncode == 2
    assert "--by cannot be 'attention'" in done.stderr
    assert "attention:decision-flip" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_folder_with_another_choice_is_refused(veridical, tmp_path):
    asked = [*DATA, *BOTH, "--by", "attention:decision-flip", "--documents", 4, "--out", tmp_path / "runs"]
    assert veridical("choose", *asked).returncode == 0
    other = veridical("choose", *asked, "--batch-size", 8)
    assert (other.returncode, other.stdout) == (2, "")
    assert "holds another run, which differs in: schedule" in " ".join(other.stderr.split())
