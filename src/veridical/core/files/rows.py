"""An explanation as a row of plain data, the same for both formats; and what can be wrong with a file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veridical.core.errors import InputError, StorageError, UsageError
from veridical.core.values import Explanation, Image

FORMAT = "veridical-explanations"
VERSION = 2
"""Raised when a reader of an older Veridical would misread the rows."""

FileRow = dict[str, Any]
Key = tuple[str, str]
"""Which example, explained how: its id, and the key of the spec."""

TARGETS = "targets"
"""The measure that says how many explanations an example has by one spec: one for each target. Without it, one."""


class RowKey(NamedTuple):
    """What a job asks of a row: which example it explains and how, which target, and how many targets there are."""

    example: str
    spec: str
    target: str
    targets: int


@dataclass
class Seen:
    """What a file holds: examples with all of their targets (`whole`), and the targets there are of others (`begun`).

    A job that is killed between two labels of an example leaves it begun.
    """

    whole: set[Key] = field(default_factory=set)
    begun: dict[Key, set[str]] = field(default_factory=dict)

    def add(self, row: RowKey) -> None:
        """Take note of a row."""
        key = (row.example, row.spec)
        there = self.begun.pop(key, set()) | {row.target}
        if len(there) < row.targets:
            self.begun[key] = there
        else:
            self.whole.add(key)


def spec_key(spec: Mapping[str, Any]) -> str:
    """A short name for a spec, made of its content: equal specs have equal keys on every machine."""
    canonical = json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def spec_data(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec as it is stored: JSON data, so tuples have become lists."""
    data: dict[str, Any] = _plain(spec)
    return data


def key_of(row: FileRow) -> RowKey:
    """What a job asks to know whether a row is already there."""
    return RowKey(row["example_id"], row["spec"], row["target"], targets_of(row["measures"]))


def targets_of(measures: Mapping[str, float]) -> int:
    """How many explanations there are of an example, by the measures of one of them."""
    count = measures.get(TARGETS, 1)
    if not math.isfinite(count) or count < 1 or count != int(count):
        raise InputError(f"the measure {TARGETS!r} is {count}, and not a whole number from 1 on")
    return int(count)


def to_row(explanation: Explanation, spec: str) -> FileRow:
    """The explanation as data, with the key of its spec in place of the spec."""
    margins = explanation.margins or (None,) * len(explanation.units)
    return {
        "example_id": explanation.example_id,
        "spec": spec,
        "source": explanation.source,
        "target": explanation.target,
        "label": list(explanation.label) if isinstance(explanation.label, tuple) else explanation.label,
        "probabilities": {name: float(value) for name, value in explanation.probabilities.items()},
        "inputs": {name: _input_data(value) for name, value in explanation.inputs.items()},
        "units": [
            {
                "field": unit.field,
                "span": [int(edge) for edge in unit.span],
                "text": unit.text,
                "score": float(score),
                "margin": None if margin is None else float(margin),
            }
            for unit, score, margin in zip(explanation.units, explanation.scores, margins, strict=True)
        ],
        "measures": {name: float(value) for name, value in explanation.measures.items()},
    }


def numbers_as_json(numbers: Mapping[str, float]) -> dict[str, float | str]:
    """Numbers by name with NaN and infinities as strings: JSON has no other place for them."""
    return {name: value if math.isfinite(value) else str(value) for name, value in numbers.items()}


def _input_data(value: str | Image) -> str | dict[str, Any]:
    if isinstance(value, str):
        return value
    return {"shape": list(value.pixels.shape), "pixels": value.pixels.tobytes()}


_DEEPEST = 50
"""Lists within lists of a spec: far more than any component has, and far less than Python can follow."""


def _plain(value: Any, depth: int = 0) -> Any:
    """JSON data of a spec's value. Numbers of numpy are welcome; what JSON cannot hold is refused by name."""
    if depth > _DEEPEST:
        raise InputError(f"a spec cannot be nested more than {_DEEPEST} levels deep")
    if isinstance(value, Mapping):
        return {str(key): _plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, depth + 1) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InputError(f"a spec cannot hold {value!r} ({type(value).__name__})", remedy="Give it as text or a number.")


_AGAIN = "It can be made again with the command that wrote it."


def missing(path: Path) -> InputError:
    """There is no such file."""
    return InputError(f"there is no file {path}", remedy="Check the path, or run `veridical explain` to make it.")


def not_ours(path: Path) -> InputError:
    """Some other file: a table, a text, a folder."""
    return InputError(
        f"{path} is not an explanation file", remedy="Give a file that `veridical explain` or ExplanationWriter wrote."
    )


def bad_suffix(path: Path) -> UsageError:
    """An ending that names no format."""
    return UsageError(f"{path} does not say its format", remedy="Explanation files end in .parquet or .jsonl.")


def bad_line(path: Path, number: int, reason: str) -> StorageError:
    """A line that was changed or damaged after it was written."""
    return StorageError(f"line {number} of {path} is not an explanation: {reason}", remedy=f"Remove the line. {_AGAIN}")


def bad_spec_line(path: Path, number: int, reason: str) -> StorageError:
    """A line that should say how scores were made. Without it, the explanations that refer to it mean nothing."""
    remedy = f"Delete the file. {_AGAIN}"
    return StorageError(f"line {number} of {path} is not a spec: {reason}", remedy=remedy)


def bad_row(path: Path, number: int, reason: str) -> StorageError:
    """A row of a Parquet file that another program has written or changed."""
    remedy = f"Write it as the reference of explanation files says, or delete the file. {_AGAIN}"
    return StorageError(f"row {number} of {path} is not an explanation: {reason}", remedy=remedy)


def damaged(path: Path, reason: str) -> StorageError:
    """A Parquet file that lost its end, for example in a copy."""
    return StorageError(
        f"{path} is truncated or damaged ({reason})", remedy=f"Copy it again, or delete it: {_AGAIN.lower()}"
    )


def unreadable(path: Path, error: OSError) -> StorageError:
    """The system refuses: a folder, missing rights, a broken disk."""
    return StorageError(f"cannot read {path}: {error.strerror or error}", remedy="Check the path and its permissions.")


def check_version(path: Path, version: Any) -> None:
    """Refuse a file whose rows this version might misread."""
    if type(version) is not int or version < 1:
        raise not_ours(path)
    if version > VERSION:
        problem = f"{path} was written by a newer Veridical (file version {version}, this one reads up to {VERSION})"
        raise StorageError(problem, remedy="Upgrade with `pip install --upgrade veridical`.")
