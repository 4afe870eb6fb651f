"""A file appears when it is complete, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.core.errors import StorageError
from veridical.core.storage import text_file


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
