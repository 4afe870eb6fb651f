"""What a run folder says of itself in `run.json`: which job it holds, what was asked for, and what came of it.

This is the only place that reads and writes the file. A kind of job declares its record as a dataclass:

    @dataclass(frozen=True, kw_only=True)
    class FreshRecord(RunRecord):
        job: ClassVar[str] = "fresh"
        data: str                                   # asked for: with other data it is another run
        whole: dict[str, float] = field(default_factory=dict, metadata=FOUND)
"""

from __future__ import annotations

import json
import os
import types
import typing
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar, Union

from veridical.core.errors import StorageError
from veridical.core.storage import read_json, write_json

RUN_FILE = "run.json"
_FORMAT, _VERSION = "veridical-run", 1

FOUND = {"found": True}
"""The metadata of a field that says what came of a run, and not what was asked for."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What every record says: the versions of what computes, and whether the run is finished."""

    job: ClassVar[str]

    versions: dict[str, str] = field(default_factory=dict, metadata=FOUND)
    done: bool = field(default=False, metadata=FOUND)

    def asked(self) -> dict[str, Any]:
        """What makes a run this run, as it is read from a file."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if not each.metadata.get("found")}
        plain: dict[str, Any] = json.loads(json.dumps({"job": self.job, **told}))
        return plain


@dataclass(frozen=True, kw_only=True)
class TrainRecord(RunRecord):
    """A training: data, model and objective by name, schedule and settings; then its figures on dev and test."""

    job: ClassVar[str] = "train"

    data: str
    dev_data: str | None
    model: str
    objective: dict[str, Any]
    schedule: dict[str, Any]
    settings: dict[str, Any]
    dev: dict[str, float] = field(default_factory=dict, metadata=FOUND)
    test: dict[str, float] = field(default_factory=dict, metadata=FOUND)
    history: list[dict[str, float]] = field(default_factory=list, metadata=FOUND)


R = TypeVar("R", bound=RunRecord)


def write_record(folder: str | os.PathLike[str], record: RunRecord) -> None:
    """Write the record of a run into its folder."""
    told = {"format": _FORMAT, "version": _VERSION, "job": record.job, **asdict(record)}
    write_json(Path(folder) / RUN_FILE, told, indent=2, allow_nan=True)  # a loss may be no number


def job_of(folder: str | os.PathLike[str]) -> str | None:
    """Which job a folder holds; None for a folder without a record."""
    told = _read(Path(folder) / RUN_FILE)
    return None if told is None else told["job"]


def read_record(folder: str | os.PathLike[str], kind: type[R]) -> R | None:
    """The record of a run of some kind; None for a folder without one, or with a run of another kind."""
    path = Path(folder) / RUN_FILE
    told = _read(path)
    if told is None or told["job"] != kind.job:
        return None
    hints = typing.get_type_hints(kind)
    for each in fields(kind):
        if not isinstance(told.get(each.name), _classes(hints[each.name])):
            raise _damaged(path, f"{each.name!r} is missing or of a wrong type")
    return kind(**{each.name: told[each.name] for each in fields(kind)})


def _read(path: Path) -> dict[str, Any] | None:
    try:
        told = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # no JSON, or not even text
        raise _damaged(path, str(error)) from error
    if not isinstance(told, dict) or told.get("format") != _FORMAT or not isinstance(told.get("job"), str):
        raise _damaged(path, "it describes no run")
    if not isinstance(told.get("version"), int):
        raise _damaged(path, "it does not say its version")
    if told["version"] > _VERSION:
        problem = f"{path} was written by a newer Veridical (run version {told['version']}, this reads {_VERSION})"
        raise StorageError(problem, remedy="Upgrade with `pip install --upgrade veridical`.")
    return told


def _classes(hint: Any) -> tuple[type, ...]:
    """The classes that a value of a type is of: `dict` for `dict[str, float]`, two for `str | None`."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return tuple(each for part in typing.get_args(hint) for each in _classes(part))
    return (typing.get_origin(hint) or hint,)


def _damaged(path: Path, problem: str) -> StorageError:
    return StorageError(f"{path} is damaged: {problem}", remedy="Choose another folder, or delete this one.")
