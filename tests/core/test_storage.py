"""A file appears when it is complete, and not before."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from veridical.core.errors import StorageError
from veridical.core.storage import LineFile, cannot_write, is_whole, text_file


def test_a_file_appears_whole(tmp_path: Path) -> None:
    with text_file(tmp_path / "new" / "page.html") as file:
        file.write("all of it\n")
        assert not (tmp_path / "new" / "page.html").exists()
    assert (tmp_path / "new" / "page.html").read_bytes() == b"all of it\n"


def test_a_failure_leaves_the_old_file_and_no_trace(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("old")
    with pytest.raises(ZeroDivisionError), text_file(tmp_path / "page.html") as file:
        file.write(str(1 / 0))
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write .*page.html"), text_file(tmp_path / "file" / "page.html"):
        pass


@pytest.mark.parametrize(
    ("error", "free", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 10**9, "the disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 10**9, "the disk is full"),
        (OSError(errno.EACCES, "Permission denied"), 0, "Permission denied"),
        (RuntimeError("basic_ios::clear"), 4096, "the disk is full"),  # as torch says it
        (RuntimeError("out of memory"), 10**9, "out of memory"),
        (RuntimeError(), 10**9, "RuntimeError"),
    ],
)
def test_why_a_file_cannot_be_written(monkeypatch, tmp_path, error, free, reason):
    monkeypatch.setattr("shutil.disk_usage", lambda _place: SimpleNamespace(free=free))
    said = cannot_write(tmp_path / "not" / "there", error)
    assert said.problem == f"cannot write {tmp_path / 'not' / 'there'}: {reason}"
    assert said.exit_code == 5


def file_of(path, content):
    path.write_bytes(content)
    return LineFile(path)


@pytest.mark.parametrize(
    ("content", "mended"),
    [
        (b"", b""),
        (b'{"a": 1}\n', b'{"a": 1}\n'),
        (b'{"a": 1}\n{"b"', b'{"a": 1}\n'),
        (b'{"a": 1}\n{"b": 2}', b'{"a": 1}\n{"b": 2}\n'),
        (b'{"a": 1}\n12', b'{"a": 1}\n'),
        (b'{"a": 1}\n\xff', b'{"a": 1}\n'),
        (b'{"torn', b""),
    ],
)
def test_the_end_is_mended(tmp_path, content, mended):
    lines = file_of(tmp_path / "lines", content)
    lines.mend()
    lines.append(b"{}\n")
    lines.close()
    assert (tmp_path / "lines").read_bytes() == mended + b"{}\n"


def test_a_torn_line_longer_than_what_is_looked_at_first(tmp_path):
    lines = file_of(tmp_path / "lines", b"{}\n" + b"x" * 200_000)
    lines.mend()
    assert (tmp_path / "lines").read_bytes() == b"{}\n"


def test_opening_alone_changes_nothing(tmp_path):
    file_of(tmp_path / "lines", b"somebody else's").close()
    assert (tmp_path / "lines").read_bytes() == b"somebody else's"


def test_half_a_line_does_not_stay(tmp_path, monkeypatch):
    lines, write = file_of(tmp_path / "lines", b""), os.write
    lines.append(b'{"a": 1}\n')
    left = 4

    def full(handle, data):
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "no space")
        left -= 2
        return write(handle, data[:2])

    with monkeypatch.context() as patched, pytest.raises(OSError, match="no space"):
        patched.setattr(os, "write", full)
        lines.append(b'{"b": 2}\n')
    lines.append(b'{"c": 3}\n')
    assert (tmp_path / "lines").read_bytes() == b'{"a": 1}\n{"c": 3}\n'


def test_a_line_is_whole_with_its_newline_or_as_an_object():
    assert [is_whole(line) for line in (b"x\n", b"{}", b'{"a": ', b"[]", b"")] == [True, True, False, False, False]


def test_closing_twice_is_harmless(tmp_path):
    lines = LineFile(tmp_path / "lines")
    lines.sync()
    lines.close()
    lines.close()
