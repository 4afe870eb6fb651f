"""A file that cannot be read says why, where and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veridical.core.errors import InputError, StorageError, UsageError
from veridical.core.files import ExplanationWriter, parquet, read, read_all


@pytest.fixture
def written(tmp_path: Path, make, suffix: str) -> Path:
    path = tmp_path / f"why{suffix}"
    with ExplanationWriter(path) as writer:
        writer.write(make(str(i)) for i in range(3))
    return path


def replace_line(path: Path, number: int, change) -> None:
    lines = path.read_text().splitlines()
    lines[number - 1] = change(lines[number - 1])
    path.write_text("\n".join(lines) + "\n")


def test_missing(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match=r"there is no file .*Check the path"):
        read(tmp_path / f"none{suffix}")


def test_unknown_ending(tmp_path: Path) -> None:
    for use in (read, ExplanationWriter):
        with pytest.raises(UsageError, match=r"\.parquet or \.jsonl"):
            use(tmp_path / "why.csv")


def test_a_folder(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"why{suffix}").mkdir()
    with pytest.raises((InputError, StorageError), match=r"why"):
        read(tmp_path / f"why{suffix}")


@pytest.mark.parametrize("content", ["hello\n", '{"text": "a"}\n', "[1]\n", "{broken\n", "x" * 100_000])
def test_another_text_file(tmp_path: Path, suffix: str, content: str) -> None:
    path = tmp_path / f"why{suffix}"
    path.write_text(content)
    with pytest.raises(InputError, match=r"is not an explanation file"):
        read(path)


def test_another_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "why.parquet")
    with pytest.raises(InputError, match=r"is not an explanation file"):
        read(tmp_path / "why.parquet")


@pytest.mark.parametrize("suffix", [".parquet"])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.99])
def test_truncated_parquet(written: Path, part: float) -> None:
    content = written.read_bytes()
    written.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(StorageError, match=r"truncated or damaged.*made again"):
        read_all(written)


@pytest.mark.parametrize("suffix", [".parquet"])
def test_damaged_in_the_middle(written: Path) -> None:
    content = bytearray(written.read_bytes())
    content[4:400] = b"\xff" * 396
    written.write_bytes(content)
    with pytest.raises(StorageError, match=r"truncated or damaged"):
        read_all(written)


@pytest.mark.parametrize("suffix", [".jsonl"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda line: line[:-5], "line 4 .*delimiter|line 4"),
        (lambda line: "[]", "line 4 .*not an object"),
        (lambda line: line.replace('"units"', '"words"'), "line 4 .*no 'units'"),
        (lambda line: line.replace('"spec": "', '"spec": "0'), "line 4 .*unknown spec '0"),
        (lambda line: json.dumps({**json.loads(line), "inputs": 7}), "line 4"),
        (lambda line: line.replace('"score": 0.30000000000000004', '"score": NaN'), "line 4 .*'good' is nan"),
    ],
)
def test_malformed_line(written: Path, change, reason: str) -> None:
    replace_line(written, 4, change)
    rows = read(written)
    assert next(rows).example_id == "0"  # what comes before the bad line is still given
    with pytest.raises(StorageError, match=reason):
        next(rows)


@pytest.mark.parametrize("suffix", [".jsonl"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda line: line.replace('"target"', '"aim"'), "line 4 .*no 'target'"),
        (lambda line: line.replace('"measures": {', '"measures": {"targets": "inf", '), "line 4 .*inf"),
        (lambda line: json.dumps({**json.loads(line), "measures": 7}), "line 4"),
    ],
)
def test_a_job_does_not_go_on_after_a_malformed_line(written: Path, change, reason: str) -> None:
    replace_line(written, 4, change)
    with ExplanationWriter(written) as writer, pytest.raises(StorageError, match=reason):
        writer.seen  # noqa: B018 - reading it is what fails


@pytest.mark.parametrize("suffix", [".jsonl"])
def test_newer_lines(written: Path) -> None:
    replace_line(written, 1, lambda line: line.replace('"version": 2', '"version": 3'))
    with pytest.raises(StorageError, match=r"newer Veridical.*[Uu]pgrade"):
        read(written)


def test_newer_parquet(tmp_path: Path) -> None:
    newer = parquet.SCHEMA.with_metadata({**parquet.SCHEMA.metadata, b"veridical.version": b"3"})
    pq.write_table(newer.empty_table(), tmp_path / "why.parquet")
    with pytest.raises(StorageError, match=r"newer Veridical.*[Uu]pgrade"):
        read(tmp_path / "why.parquet")
