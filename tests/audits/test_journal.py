"""What was measured is kept: by key, line by line, for one writer at a time."""

import math

import pytest

from veridical.audits.record import Measurement
from veridical.audits.store import Journal
from veridical.core.errors import StorageError

ROW = Measurement("日本\ud800", "occlusion", "aopc", 0.1 + 0.2, "reversed", (0.5, math.nan), {"best": 1.0})


def reopened(folder):
    with Journal(folder) as journal:
        return journal.rows, journal.steps


def test_rows_come_back_to_the_last_digit(tmp_path):
    with Journal(tmp_path / "new") as journal:
        journal.write({"a": ROW}, {"aopc": (0.1, 0.2)})
    rows, steps = reopened(tmp_path / "new")
    assert (rows["a"].document, rows["a"].value, rows["a"].order) == (ROW.document, 0.1 + 0.2, "reversed")
    assert rows["a"].curve[0] == 0.5
    assert math.isnan(rows["a"].curve[1])
    assert (rows["a"].details, steps) == ({"best": 1.0}, {"aopc": (0.1, 0.2)})


def test_it_knows_what_it_has(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write({"a": ROW, "b": ROW}, {})
        assert journal.has(["a", "b"])
        assert not journal.has(["a", "c"])


def test_what_does_not_exist_stays_undefined(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write({"a": Measurement("0", "m", "aopc", math.nan), "b": Measurement("0", "m", "aopc", math.inf)}, {})
    assert all(math.isnan(row.value) for row in reopened(tmp_path)[0].values())


def test_rows_are_safe_before_the_journal_is_closed(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write({"a": ROW}, {})
        assert b'"key": "a"' in (tmp_path / "measured.jsonl").read_bytes()


def test_the_last_row_of_a_key_counts(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write({"a": Measurement("0", "m", "aopc", 1.0)}, {})
        journal.write({"a": Measurement("0", "m", "aopc", 2.0)}, {})
    assert reopened(tmp_path)[0]["a"].value == 2.0


@pytest.mark.parametrize("cut", [2, 10, 60])
def test_a_torn_line_is_dropped_and_nothing_is_glued_to_it(tmp_path, cut):
    with Journal(tmp_path) as journal:
        journal.write({"a": ROW, "b": ROW}, {})
    file = tmp_path / "measured.jsonl"
    file.write_bytes(file.read_bytes()[:-cut])
    with Journal(tmp_path) as journal:
        assert set(journal.rows) == {"a"}
        journal.write({"c": ROW}, {})
    assert set(reopened(tmp_path)[0]) == {"a", "c"}


def test_a_line_without_its_newline_is_whole(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write({"a": ROW}, {})
    file = tmp_path / "measured.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    with Journal(tmp_path) as journal:
        journal.write({"b": ROW}, {})
    assert set(reopened(tmp_path)[0]) == {"a", "b"}


def test_failures_times_and_work_come_back(tmp_path):
    with Journal(tmp_path) as journal:
        journal.write({}, {}, {"a": "it has no label"})
        journal.time("b", {"seconds": 0.1 + 0.2})
        journal.spend("c", queries=3, forwards=2)
        journal.spend("d", queries=0, forwards=0)
        journal.spend("e", queries=1, forwards=0)
    assert (tmp_path / "measured.jsonl").read_bytes().count(b"\n") == 4
    with Journal(tmp_path) as journal:
        assert (journal.failures, journal.times) == ({"a": "it has no label"}, {"b": {"seconds": 0.1 + 0.2}})
        assert journal.work == {"queries": 4, "forwards": 2}
        journal.spend("e", queries=2, forwards=2)  # done again
        assert journal.work == {"queries": 5, "forwards": 4}
        assert journal.has(["a"])
        assert not journal.has(["b"])


@pytest.mark.parametrize(
    "line", ["[]", '"text"', "{", '{"key": "a"}', '{"metric": "aopc"}', '{"key": "a", "value": []}']
)
def test_a_foreign_line_is_named_and_the_folder_is_free_again(tmp_path, line):
    with Journal(tmp_path) as journal:
        journal.write({"a": ROW}, {})
    with (tmp_path / "measured.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(StorageError, match=r"line 2 of .*measured\.jsonl was not written by an audit") as raised:
        Journal(tmp_path)
    (tmp_path / "measured.jsonl").unlink()
    assert raised.tb  # which still knows the journal: the lock was let go, and not just forgotten
    assert reopened(tmp_path) == ({}, {})


def test_one_writer_at_a_time(tmp_path):
    with Journal(tmp_path), pytest.raises(StorageError, match="being written by another process"):
        Journal(tmp_path)
    assert reopened(tmp_path) == ({}, {})


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write .* run the same command again"):
        Journal(tmp_path / "file" / "audit")
