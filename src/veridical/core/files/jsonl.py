"""The line format: a header, then one line per explanation, each spec on a line of its own before its first use.

Also the journal of an unfinished Parquet file. Readers pass over a last line that a crash has torn.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from veridical.core.errors import InputError
from veridical.core.files.checked_rows import checked_spec, from_row, key_of_row, spec_of
from veridical.core.files.rows import (
    FORMAT,
    VERSION,
    FileRow,
    RowKey,
    bad_line,
    bad_spec_line,
    check_version,
    not_ours,
    numbers_as_json,
    spec_data,
)
from veridical.core.storage import escape, is_whole, unescape
from veridical.core.values import Explanation, short

_HEADER_START = b'{"format": "' + FORMAT.encode() + b'"'
_SPEC_START = b'{"spec_key"'
_HEADER_LIMIT = 10_000  # a device or a huge file without newlines must not be read whole to see that it is not ours


@dataclass
class Contents:
    """What a quick look over a line file found: how many rows it has, and the keys of its specs."""

    rows: int = 0
    specs: set[str] = field(default_factory=set)


def header_line() -> bytes:
    """The first line. Its id tells a finished Parquet file which journal it already contains."""
    return dump({"format": FORMAT, "version": VERSION, "id": uuid.uuid4().hex})


def spec_line(key: str, spec: Any) -> bytes:
    """The line that gives a spec its key."""
    return dump({"spec_key": key, "spec": spec_data(spec)})


def row_line(row: FileRow) -> bytes:
    """The line of one explanation."""
    numbers = {name: numbers_as_json(row[name]) for name in ("probabilities", "measures")}
    return dump({**row, **numbers})


def dump(value: Any) -> bytes:
    """One finished line."""
    return (escape(json.dumps(value, ensure_ascii=False, default=_base64)) + "\n").encode()


def load(line: bytes) -> Any:
    """What `dump` was given; a ValueError says that it cannot be read."""
    try:
        return json.loads(unescape(line.decode()))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check_header(file: BinaryIO, path: Path) -> dict[str, Any]:
    """Read the header and leave the file after it; empty when a crash tore the header itself."""
    line = file.readline(_HEADER_LIMIT)
    is_torn = not line.endswith(b"\n") and len(line) < _HEADER_LIMIT
    if is_torn and (_HEADER_START.startswith(line) or line.startswith(_HEADER_START)):
        return {}
    try:
        header = load(line) if line.startswith(b"{") else {}
    except ValueError:
        header = {}
    if not isinstance(header, dict) or header.get("format") != FORMAT or not isinstance(header.get("id", ""), str):
        raise not_ours(path)
    check_version(path, header.get("version"))
    return header


def survey(path: Path) -> Contents:
    """Look over the file without reading what the rows say, to go on writing where it ends."""
    found = Contents()
    with path.open("rb") as file:
        check_header(file, path)
        for number, line in enumerate(file, start=2):
            if not is_whole(line):
                break
            if line.startswith(_SPEC_START):
                found.specs.add(_spec_of_line(_load_line(line, path, number), path, number)[0])
            elif line.strip():
                found.rows += 1
    return found


def lines(path: Path, file: BinaryIO | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every finished line after the header, with its number; a malformed one is an error that names it."""
    with file or path.open("rb") as source:
        check_header(source, path)
        for number, line in enumerate(source, start=2):
            if not is_whole(line):
                return
            if line.strip():
                yield number, _load_line(line, path, number)


def rows(path: Path, specs: dict[str, Any], file: BinaryIO | None = None) -> Iterator[tuple[int, FileRow]]:
    """The rows with their line numbers; the specs met on the way are added to `specs`."""
    for number, line in lines(path, file):
        if "spec_key" in line:
            key, spec = _spec_of_line(line, path, number)
            specs[key] = spec
        else:
            yield number, line


def explanations(path: Path, file: BinaryIO | None = None) -> Iterator[Explanation]:
    """The explanations of a line file, one at a time."""
    specs: dict[str, Any] = {}
    for number, row in rows(path, specs, file):
        try:
            explanation = from_row(row, spec_of(row, specs))
        except InputError as error:
            raise bad_line(path, number, str(error)) from error
        yield explanation


def keys(path: Path) -> Iterator[RowKey]:
    """The keys of the rows."""
    specs: dict[str, Any] = {}
    for number, row in rows(path, specs):
        try:
            spec_of(row, specs)
            key = key_of_row(row)
        except InputError as error:
            raise bad_line(path, number, str(error)) from error
        yield key


def _spec_of_line(line: dict[str, Any], path: Path, number: int) -> tuple[str, dict[str, Any]]:
    """The key and the spec that a line tells."""
    try:
        if not isinstance(line["spec_key"], str):
            raise InputError(f"its spec_key is {short(line['spec_key'])}, and not a text")
        return line["spec_key"], checked_spec(line.get("spec"))
    except InputError as error:
        raise bad_spec_line(path, number, str(error)) from error


def _load_line(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        value = load(line)
    except ValueError as error:
        raise bad_line(path, number, str(error)) from error
    if not isinstance(value, dict):
        raise bad_line(path, number, "it is not an object")
    return value


def _base64(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is not JSON data")
