"""Little files to load."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, str], Path]
WriteRows = Callable[[str, Iterable[dict[str, Any]]], Path]


@pytest.fixture(autouse=True)
def _no_shared_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIDICAL_DATA", raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a text file, compressed when its name ends in .gz."""

    def _write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return _write


@pytest.fixture
def write_rows(write: Write) -> WriteRows:
    """Write a JSONL file."""
    return lambda name, rows: write(name, "".join(json.dumps(row) + "\n" for row in rows))
