"""`run.json`: what is written comes back, what is damaged is said to be, and other jobs are told apart."""

import json
import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest

from veridical.core.errors import StorageError
from veridical.core.folders import FOUND, RunRecord, TrainRecord, job_of, read_record, write_record

RECORD = TrainRecord(
    data="mine.csv",
    dev_data=None,
    model="tiny",
    objective={"name": "cross-entropy", "smoothing": 0.0},
    schedule={"epochs": 3.0, "seed": 0},
    settings={},
    versions={"torch": "2.6"},
)


@dataclass(frozen=True, kw_only=True)
class OtherRecord(RunRecord):
    job: ClassVar[str] = "other"

    names: tuple[str, ...]
    figures: dict[str, float] = field(default_factory=dict, metadata=FOUND)


def change(folder, **told):
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, **told}))


def test_what_is_written_comes_back(tmp_path):
    done = replace(RECORD, test={"accuracy": 0.9}, history=[{"loss": 0.5, "step": 3}], done=True)
    write_record(tmp_path, done)
    assert read_record(tmp_path, TrainRecord) == done
    assert job_of(tmp_path) == "train"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_names_in_any_script_and_losses_that_are_no_numbers(tmp_path):
    write_record(tmp_path, replace(RECORD, data="größe/数据.csv", history=[{"loss": math.nan}]))
    found = read_record(tmp_path, TrainRecord)
    assert found.data == "größe/数据.csv"
    assert math.isnan(found.history[0]["loss"])
    assert "größe/数据.csv" in (tmp_path / "run.json").read_text(encoding="utf-8")


def test_a_folder_without_a_record(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "nowhere", tmp_path / "file", "google-bert/bert-base-uncased"):
        assert read_record(place, TrainRecord) is None
        assert job_of(place) is None


def test_another_job_has_another_record(tmp_path):
    write_record(tmp_path, OtherRecord(names=("a",)))
    assert read_record(tmp_path, TrainRecord) is None
    assert job_of(tmp_path) == "other"


def test_only_what_was_asked_tells_runs_apart():
    assert RECORD.asked() == replace(RECORD, versions={}, dev={"loss": 1.0}, done=True).asked()
    assert RECORD.asked() != replace(RECORD, dev_data="dev.csv").asked()
    assert OtherRecord(names=("a", "b")).asked() == {"job": "other", "names": ["a", "b"]}


def test_where_a_run_is_logged_is_no_part_of_what_it_is():
    logged, silent = (replace(RECORD, schedule={"epochs": 3.0, "report_to": to}) for to in ("wandb", "none"))
    assert logged.asked() == silent.asked()
    assert logged.asked()["schedule"] == {"epochs": 3.0}
    assert logged.schedule["report_to"] == "wandb"
    assert logged.asked() != replace(logged, schedule={"epochs": 4.0, "report_to": "wandb"}).asked()


def test_a_record_from_before_there_were_notes(tmp_path):
    write_record(tmp_path, replace(RECORD, notes=["too few steps"]))
    assert read_record(tmp_path, TrainRecord).notes == ["too few steps"]
    told = json.loads((tmp_path / "run.json").read_text())
    del told["notes"]
    (tmp_path / "run.json").write_text(json.dumps(told))
    assert read_record(tmp_path, TrainRecord) == RECORD
    change(tmp_path, notes="too few steps")
    with pytest.raises(StorageError, match="'notes' is missing or of a wrong type"):
        read_record(tmp_path, TrainRecord)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"data": "mine.csv"}', "\udcff"])
def test_a_file_that_is_no_record(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(StorageError, match="run.json is damaged: .*Choose another folder, or delete this one"):
        read_record(tmp_path, TrainRecord)


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ({"version": 2}, "was written by a newer Veridical .run version 2, this reads 1"),
        ({"version": "one"}, "it does not say its version"),
        ({"format": "other"}, "it describes no run"),
        ({"job": 3}, "it describes no run"),
        ({"data": None}, "'data' is missing or of a wrong type"),
        ({"test": [1]}, "'test' is missing or of a wrong type"),
        ({"done": "yes"}, "'done' is missing or of a wrong type"),
    ],
)
def test_a_record_with_a_wrong_part(tmp_path, told, problem):
    write_record(tmp_path, RECORD)
    change(tmp_path, **told)
    with pytest.raises(StorageError, match=problem):
        read_record(tmp_path, TrainRecord)


def test_what_a_newer_record_says_beside_is_passed_over(tmp_path):
    write_record(tmp_path, RECORD)
    change(tmp_path, weather="fine")
    assert read_record(tmp_path, TrainRecord) == RECORD
