"""`veridical gate` as a pipeline meets it: the exit code is the answer."""

import json
import math

import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.store import save_audit

VALUES = {
    ("comprehensiveness", "occlusion"): [0.6, 0.7, 0.8],
    ("comprehensiveness", "random"): [0.1, 0.0, 0.2],
    ("comprehensiveness(eraser=mask)", "occlusion"): [0.5, 0.5, 0.5],
    ("agreement", "occlusion"): [0.0, 1.0, 1.0],
    ("stability", "occlusion"): [math.nan] * 3,
}


@pytest.fixture
def folder(tmp_path):
    """An audit with numbers that are known."""
    metrics = dict.fromkeys(metric for metric, _ in VALUES)
    audited_metrics = (
        AuditedMetric(name, {"name": name}, greater_is_better=True, percent=name == "agreement") for name in metrics
    )
    audit = Audit(
        model={"name": "tiny"},
        data="made:test",
        documents=tuple(Document(str(place), "yes", 5) for place in range(3)),
        methods=tuple(AuditedMethod(name, {"method": {"name": name}}) for name in ("occlusion", "random")),
        metrics=tuple(audited_metrics),
        rows=tuple(
            Measurement(str(place), method, metric, value)
            for (metric, method), values in VALUES.items()
            for place, value in enumerate(values)
        ),
    )
    save_audit(audit, tmp_path)
    return tmp_path


def test_a_bar_that_is_kept(veridical, folder):
    done = veridical("gate", folder, "--min", "comprehensiveness=0.65", "--max", "occlusion:comprehensiveness=0.75")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("pass: occlusion: comprehensiveness is 0.700") == 2
    assert "random" not in done.stdout


def test_a_bar_that_is_not_kept(veridical, folder):
    done = veridical("gate", folder, "--min", "comprehensiveness=0.75", "--max", "comprehensiveness=0.9")
    assert done.returncode == 8
    assert "FAIL: occlusion: comprehensiveness is 0.700" in done.stdout
    assert "not 0.75 or more" in done.stdout
    assert "pass: occlusion" in done.stdout


def test_names_with_an_equals_sign(veridical, folder):
    done = veridical("gate", folder, "--min", "comprehensiveness(eraser=mask)=0.5")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_undefined_everywhere_does_not_pass(veridical, folder):
    done = veridical("gate", folder, "--max", "stability=1", "--json")
    assert done.returncode == 8
    (told,) = json.loads(done.stdout, parse_constant=pytest.fail)
    assert (told["value"], told["passed"]) == (None, False)
    assert "undefined for all documents" in told["words"]


def test_a_bar_in_another_unit_than_the_metric_is_said(veridical, folder):
    fraction = veridical("gate", folder, "--min", "agreement=0.8")
    assert fraction.returncode == 0
    assert "warning: agreement is printed times 100, and so is its bar: 0.8 means 0.8 of 100." in fraction.stderr
    percent = veridical("gate", folder, "--min", "agreement=80", "--json")
    assert (percent.returncode, percent.stderr) == (8, "")


@pytest.mark.parametrize(
    ("bars", "words"),
    [
        ([], "there is no bar to keep"),
        (["--min", "comprehensivness=0.3"], "Did you mean 'comprehensiveness'?"),
        (["--min", "oclusion:comprehensiveness=0.3"], "Did you mean 'occlusion'?"),
        (["--min", "comprehensiveness"], "Write metric=0.30"),
        (["--min", "=0.3"], "Write metric=0.30"),
        (["--min", "comprehensiveness=high"], "Write metric=0.30"),
        (["--min", "comprehensiveness=nan"], "Write metric=0.30"),
        (["--max", "comprehensiveness=inf"], "Write metric=0.30"),
        (["--min", "comprehensiveness=0.9", "--min", "comprehensiveness=0.1"], "--min is given twice for"),
    ],
)
def test_a_wrong_request(veridical, folder, bars, words):
    done = veridical("gate", folder, *bars)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_folder_that_is_no_audit(veridical, tmp_path):
    done = veridical("gate", tmp_path, "--min", "comprehensiveness=0.3")
    assert done.returncode == 3
    assert "is not an audit. Give the folder that" in done.stderr


def change(folder, **told):
    record = json.loads((folder / "audit.json").read_text())
    (folder / "audit.json").write_text(json.dumps({**record, **told}))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"version": 2}, "was written by a newer Veridical (audit version 2, this one reads up to 1)"),
        ({"version": "one"}, "it does not say its version"),
        ({"documents": None}, "is damaged"),
        ({"methods": [{"name": "occlusion"}]}, "is damaged"),
    ],
)
def test_a_record_that_cannot_be_read(veridical, folder, told, words):
    change(folder, **told)
    done = veridical("gate", folder, "--min", "comprehensiveness=0.3")
    assert done.returncode == 5
    assert words in done.stderr


def test_rows_that_were_cut_or_lost(veridical, folder):
    rows = folder / "rows.parquet"
    rows.write_bytes(rows.read_bytes()[:-40])
    cut = veridical("gate", folder, "--min", "comprehensiveness=0.3")
    assert (cut.returncode, "rows.parquet is truncated or damaged" in cut.stderr) == (5, True)
    rows.unlink()
    lost = veridical("gate", folder, "--min", "comprehensiveness=0.3")
    assert (lost.returncode, "there is no file" in lost.stderr) == (5, True)
    assert "Run the audit again" in lost.stderr
