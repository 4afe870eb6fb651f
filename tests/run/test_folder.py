"""A run folder: one writer at a time, the same run goes on, another is refused."""

import errno
import json
from dataclasses import replace

import pytest

from veridical.core.errors import InputError, StorageError, UnsupportedError, UsageError
from veridical.core.folders import TrainRecord, write_record
from veridical.core.storage import OutputLock
from veridical.run.folder import RunFolder
from veridical.run.fresh import RationalesRecord

RECORD = TrainRecord(
    data="mine.csv", dev_data=None, model="tiny", objective={"name": "x", "sizes": (1, 2)}, schedule={}, settings={}
)
OTHER = RationalesRecord(data="mine.csv", dev_data=None, model={}, extraction={})


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path / "deep" / "run")


def test_a_new_run_says_what_it_is_as_soon_as_it_starts(run):
    assert run.previous(RECORD) is None
    with run.held(RECORD):
        assert not run.previous(RECORD).done
    run.write(replace(RECORD, test={"accuracy": 1.0}, done=True))
    assert run.previous(RECORD).test == {"accuracy": 1.0}


def test_what_an_earlier_call_found_is_kept_while_the_same_run_goes_on(run):
    with run.held(RECORD):
        run.write(replace(RECORD, test={"accuracy": 1.0}, done=True))
    with run.held(RECORD):
        assert run.previous(RECORD).done


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (replace(RECORD, data="other.csv", settings={"units": "token"}), "data, settings"),
        (replace(RECORD, objective={"name": "x", "sizes": (1, 3)}), "objective"),
        (OTHER, "job"),
    ],
)
def test_another_run_is_refused_with_what_differs(run, other, names):
    with run.held(RECORD):
        (run.path / "checkpoint-1").mkdir()
    before = (run.path / "run.json").read_bytes()
    for refused in (lambda: run.previous(other), lambda: run.held(other).__enter__()):
        with pytest.raises(UsageError, match=f"holds another run, which differs in: {names}. Choose another --out"):
            refused()
    assert (run.path / "run.json").read_bytes() == before
    assert not run.path.with_name("run.lock").exists()


def test_a_run_that_was_killed_before_it_made_anything_makes_room_for_another(run):
    other = replace(RECORD, data="other.csv")
    with run.held(RECORD):
        pass
    with run.held(other):
        assert run.previous(other).data == "other.csv"
    with run.held(other):
        run.write(replace(other, done=True))
    with pytest.raises(UsageError, match="holds another run"):
        run.previous(RECORD)  # that one is finished


def test_a_second_writer_is_refused_at_once(run):
    with run.held(RECORD):
        with pytest.raises(StorageError, match="run is being written by another process"), run.held(RECORD):
            pass
        assert run.path.with_name("run.lock").exists()
    with run.held(RECORD):
        pass
    assert not run.path.with_name("run.lock").exists()


def test_a_damaged_record_is_not_written_over(run):
    run.path.mkdir(parents=True)
    (run.path / "run.json").write_text('{"format": ')
    with pytest.raises(StorageError, match="run.json is damaged"), run.held(RECORD):
        pass
    assert (run.path / "run.json").read_text() == '{"format": '
    OutputLock(run.path).release()  # nobody holds it


def test_a_full_disk_is_said_to_be_full(run):
    full = "cannot write to .*No space left on device.*Free some space"
    with pytest.raises(StorageError, match=full), run.held(RECORD):
        raise OSError(errno.ENOSPC, "No space left on device")
    with run.held(RECORD):
        pass


@pytest.mark.parametrize("kind", [UsageError, InputError, UnsupportedError])
def test_a_request_that_is_refused_leaves_no_run(run, kind):
    with pytest.raises(kind), run.held(RECORD):
        raise kind("not like this")
    assert not run.path.exists()
    with run.held(replace(RECORD, model="other")):
        pass


def test_what_was_done_before_a_refusal_stays(run):
    with pytest.raises(InputError), run.held(RECORD):
        (run.path / "checkpoint-1").mkdir()
        raise InputError("a bad text")
    assert not run.previous(RECORD).done
    with pytest.raises(InputError), run.held(RECORD):
        (run.path / "checkpoint-1").rmdir()
        raise InputError("a bad text")
    assert run.previous(RECORD) is not None  # of an earlier call


def test_of_several_processes_only_the_first_writes(run, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with run.held(RECORD):
        assert not (run.path / "run.json").exists()
        assert not run.path.with_name("run.lock").exists()
    monkeypatch.setenv("RANK", "0")
    with run.held(RECORD):
        assert json.loads((run.path / "run.json").read_text())["job"] == "train"


def test_a_finished_run_is_read_without_a_lock(run):
    run.path.mkdir(parents=True)
    write_record(run.path, replace(RECORD, done=True))
    lock = OutputLock(run.path)
    assert run.previous(RECORD).done
    lock.release()
