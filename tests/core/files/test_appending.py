"""Nothing finished is lost: appending, crashes, locks and full disks, with real processes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veridical.core.errors import InputError, StorageError
from veridical.core.files import ExplanationWriter, parquet, read, read_all, spec_key
from veridical.core.values import Explanation

WRITE_FOREVER = """
import sys
from itertools import count
from veridical.core.values import Unit
from veridical.core.values import Explanation
from veridical.core.files import ExplanationWriter
with ExplanationWriter(sys.argv[1]) as writer:
    for i in count():
        unit = Unit("text", (0, 5000), "x" * 5000)
        writer.write(Explanation(str(i), {"text": "x" * 5000}, "a", (unit,), (1.0,), {}, "m", {"seed": 0}))
        print(i, flush=True)
"""


def ids(path: Path) -> list[str]:
    return [explanation.example_id for explanation in read(path)]


def start(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITE_FOREVER, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def finished(process: subprocess.Popen[str], rows: int) -> int:
    """Kill the process after that many rows, and return how many it says it wrote."""
    assert process.stdout is not None
    for _ in range(rows):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    return rows + rest.count("\n")


def as_before_margins(path: Path) -> None:
    """The file as it was written when units had no margins."""
    if path.suffix == ".jsonl":
        path.write_text(path.read_text().replace(', "margin": null', ""))
        return
    with parquet.opened(path) as file:
        kept, specs = file.read(), parquet.specs(file, path)
    units = pa.list_(
        pa.struct([field for field in parquet.SCHEMA.field("units").type.value_type if field.name != "margin"])
    )
    at = parquet.SCHEMA.get_field_index("units")
    schema = parquet.SCHEMA.set(at, pa.field("units", units))
    older = pa.Table.from_pylist(kept.to_pylist(), schema=schema)
    pq.write_table(older.replace_schema_metadata({**schema.metadata, b"veridical.specs": json.dumps(specs)}), path)


def test_files_from_before_margins_are_read_and_go_on(tmp_path: Path, make, suffix: str) -> None:
    path = tmp_path / f"why{suffix}"
    with ExplanationWriter(path) as writer:
        writer.write(make("old"))
    as_before_margins(path)
    assert read_all(path) == [make("old")]
    with ExplanationWriter(path) as writer:
        writer.write(make("new", margins=(0.5, 0.25)))
    assert read_all(path) == [make("old"), make("new", margins=(0.5, 0.25))]


def test_writers_append(tmp_path: Path, make, suffix: str) -> None:
    path = tmp_path / f"why{suffix}"
    for id in "abc":
        with ExplanationWriter(path) as writer:
            writer.write(make(id, spec={"of": id}))
            assert writer.count == len(writer.seen) == "abc".index(id) + 1
    assert [(e.example_id, e.spec) for e in read(path)] == [(id, {"of": id}) for id in "abc"]


def test_an_unfinished_file_can_be_read(tmp_path: Path, make, suffix: str) -> None:
    path = tmp_path / f"why{suffix}"
    with ExplanationWriter(path) as writer:
        writer.write(make("a"))
    with ExplanationWriter(path) as writer:
        writer.write([make("b"), make("c")])
        assert ids(path) == ["a", "b", "c"]


def test_an_example_is_seen_when_all_of_its_targets_are_there(tmp_path: Path, make, suffix: str) -> None:
    path, key = tmp_path / f"why{suffix}", spec_key(make().spec)

    def one(target: str) -> Explanation:
        return make("a", target=target, measures={"targets": 3.0})

    for target, begun in {"x": {"x"}, "\ud800": {"x", "\ud800"}}.items():
        with ExplanationWriter(path) as writer:
            writer.write(one(target))
            assert (writer.seen, writer.begun) == (set(), {("a", key): begun})
    with ExplanationWriter(path) as writer:
        assert writer.begun == {("a", key): {"x", "\ud800"}}
        writer.write([make("b"), one("z")])
        assert (writer.seen, writer.begun) == ({("a", key), ("b", key)}, {})
    with ExplanationWriter(path) as writer:
        assert (writer.seen, writer.begun, writer.count) == ({("a", key), ("b", key)}, {}, 4)


def test_seen_tells_a_job_what_to_skip(tmp_path: Path, make, suffix: str) -> None:
    path = tmp_path / f"why{suffix}"
    with ExplanationWriter(path) as writer:
        writer.write(make("\ud800"))
    with ExplanationWriter(path) as writer:
        key = spec_key(make().spec)
        assert writer.seen == {("\ud800", key)}
        writer.write(make("b"))
        assert writer.seen == {("\ud800", key), ("b", key)}


def test_an_error_keeps_the_journal_and_the_next_writer_goes_on(tmp_path: Path, make) -> None:
    path = tmp_path / "why.parquet"
    with pytest.raises(RuntimeError), ExplanationWriter(path) as writer:
        writer.write(make("a"))
        raise RuntimeError
    assert not path.exists()
    assert ids(path) == ["a"]
    with ExplanationWriter(path) as writer:
        assert writer.count == 1
        writer.write(make("b"))
    assert ids(path) == ["a", "b"]
    assert [file.name for file in tmp_path.iterdir()] == ["why.parquet"]


def test_killed_while_writing(tmp_path: Path, make, suffix: str) -> None:
    path = tmp_path / f"why{suffix}"
    rows = finished(start(path), 20)
    found = ids(path)
    assert len(found) >= rows  # one more may have been written but not announced
    assert found == [str(i) for i in range(len(found))]
    with ExplanationWriter(path) as writer:  # the dead process's lock does not stand in the way
        assert writer.count == len(writer.seen) == len(found)
        writer.write(make("after"))
    assert ids(path) == [*found, "after"]


@pytest.mark.parametrize("cut", [1, 2, 10, 100])
def test_a_torn_last_line_is_dropped_and_nothing_else(tmp_path: Path, make, suffix: str, cut: int) -> None:
    path = tmp_path / f"why{suffix}"
    with pytest.raises(RuntimeError), ExplanationWriter(path) as writer:
        writer.write([make("a"), make("b")])
        raise RuntimeError
    lines = next(tmp_path.glob("why*"))
    lines.write_bytes(lines.read_bytes()[:-cut])
    survivors = ["a", "b"] if cut == 1 else ["a"]  # without only its newline, the line is whole
    assert ids(path) == survivors
    with ExplanationWriter(path) as writer:
        assert writer.count == len(survivors)
        writer.write(make("c"))
    assert ids(path) == [*survivors, "c"]


@pytest.mark.parametrize("length", [0, 5, 30, 70])
def test_a_torn_header_starts_afresh(tmp_path: Path, make, length: int) -> None:
    path = tmp_path / "why.jsonl"
    ExplanationWriter(path).close()
    path.write_bytes(path.read_bytes()[:length])
    assert ids(path) == []
    with ExplanationWriter(path) as writer:
        writer.write(make("a"))
    assert ids(path) == ["a"]


def test_a_crash_between_merge_and_cleanup_doubles_nothing(tmp_path: Path, make) -> None:
    path, journal, saved = tmp_path / "why.parquet", tmp_path / "why.parquet.part", tmp_path / "saved"
    with ExplanationWriter(path) as writer:
        writer.write([make("a"), make("b")])
        shutil.copy(journal, saved)
    shutil.copy(saved, journal)
    assert ids(path) == ["a", "b"]
    with ExplanationWriter(path) as writer:
        assert writer.count == len(writer.seen) == 2
        writer.write(make("c"))
    assert ids(path) == ["a", "b", "c"]


def test_a_second_process_is_told_to_wait(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"why{suffix}"
    process = start(path)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(StorageError, match=rf"why\{suffix} is being written by another process.*choose another"):
        ExplanationWriter(path)
    finished(process, 1)
    ExplanationWriter(path).close()
    assert not list(tmp_path.glob("*.lock"))


def test_a_second_writer_in_the_same_process_too(tmp_path: Path) -> None:
    with ExplanationWriter(tmp_path / "why.jsonl"), pytest.raises(StorageError, match=r"another process"):
        ExplanationWriter(tmp_path / "why.jsonl")


def test_a_full_device(tmp_path: Path) -> None:
    (tmp_path / "why.jsonl").symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"disk is full; 0 explanations are safe.*run the same command again"):
        ExplanationWriter(tmp_path / "why.jsonl")
    assert not list(tmp_path.glob("*.lock"))


def test_a_disk_that_fills_up(tmp_path: Path, make, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real, space = tmp_path / f"why{suffix}", os.write, [3000]

    def write(handle: int, data: memoryview) -> int:
        if not space[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(handle, data[: space[0]])
        space[0] -= written
        return written

    with ExplanationWriter(path) as writer:
        writer.write(make("before"))
    with pytest.raises(StorageError, match=r"safe in .*why") as caught, ExplanationWriter(path) as writer:
        monkeypatch.setattr(os, "write", write)
        writer.write(make(str(i)) for i in range(100))
    monkeypatch.undo()
    found = ids(path)
    assert f"{len(found)} explanations are safe" in str(caught.value)
    with ExplanationWriter(path) as writer:
        writer.write(make("after"))
    assert ids(path) == [*found, "after"]


def test_a_disk_that_fills_up_while_merging(tmp_path: Path, make, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "why.parquet"

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(parquet, "_sync", full)
    safe = r"1 explanations are safe in .*why\.parquet\.part"
    with pytest.raises(StorageError, match=safe), ExplanationWriter(path) as writer:
        writer.write(make("a"))
    monkeypatch.undo()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["why.parquet.part"]
    ExplanationWriter(path).close()
    assert ids(path) == ["a"]


def test_other_files_are_not_touched(tmp_path: Path) -> None:
    for name, content in {
        "a.jsonl": b"my diary",
        "b.jsonl": b'{"text": "x"}\n',
        "c.parquet": b"PAR1 but no more",
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises((InputError, StorageError)):
            ExplanationWriter(path)
        assert path.read_bytes() == content


def test_a_closed_writer_says_so(tmp_path: Path, make) -> None:
    writer = ExplanationWriter(tmp_path / "why.jsonl")
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match=r"closed"):
        writer.write(make())


def test_a_link_keeps_pointing(tmp_path: Path, make) -> None:
    (tmp_path / "link.parquet").symlink_to(tmp_path / "real.parquet")
    with ExplanationWriter(tmp_path / "link.parquet") as writer:
        writer.write(make("a"))
    assert (tmp_path / "link.parquet").is_symlink()
    assert read_all(tmp_path / "real.parquet") == [make("a")]
