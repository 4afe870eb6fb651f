"""Folders that say what they hold: a component in `component.json`, a run in `run.json`."""

from __future__ import annotations

import json
import os
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar, Union, cast

from veridical.core.errors import ModelError, StorageError, UsageError, VeridicalError
from veridical.core.storage import cannot_write, read_json, write_json

COMPONENT_FILE = "component.json"
"""What makes a folder a component."""

WEIGHTS = "weights"
"""The key of a spec, and of the file, that holds the fingerprint of what a component has learned."""

MADE_FOR = "made_for"
"""The key of the file that holds the fingerprint of the model that a component was trained with, if it needs that."""

_COMPONENT_FORMAT, _COMPONENT_VERSION = "veridical-component", 1
_AGAIN = "Train or copy it again."


def has_weights(thing: Any) -> bool:
    """Whether a component has learned something that its options do not tell."""
    return hasattr(thing, "save_weights")


def looks_like_path(text: str) -> bool:
    """Whether a text is meant as a path, and not as a name."""
    return "/" in text or os.sep in text or text.startswith(("~", "."))


def holds_component(text: str) -> bool:
    """Whether a text is the path of a folder with a component."""
    return os.path.isfile(os.path.join(os.path.expanduser(text), COMPONENT_FILE))


def write_folder(thing: Any, path: Path, kind: str, spec: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    """Write a component that has this spec; `more` is said beside its options."""
    learned = {WEIGHTS: spec[WEIGHTS]} if WEIGHTS in spec else {}
    options = {key: value for key, value in spec.items() if key not in ("name", WEIGHTS)}
    told = {
        "format": _COMPONENT_FORMAT,
        "version": _COMPONENT_VERSION,
        "kind": kind,
        "name": spec["name"],
        "options": options,
    }
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    if learned:
        learned |= {MADE_FOR: getattr(thing, MADE_FOR, None)}
        thing.save_weights(path)
    # Last: after an interruption the folder holds no component, or one that says another fingerprint than its weights.
    write_json(path / COMPONENT_FILE, {**told, **learned, **more}, indent=2)


def read_folder(path: Path, kind: str) -> dict[str, Any]:
    """What the file of a component of this kind says, checked."""
    file = path / COMPONENT_FILE
    try:
        told = read_json(file)
    except (OSError, ValueError) as error:
        raise StorageError(f"{file} cannot be read: {error}", remedy=_AGAIN) from error
    _check_version(told, path)
    if not (_has_texts(told, "kind", "name") and isinstance(told.get("options"), dict)):
        raise _no_component(file)
    if told["kind"] != kind:
        raise UsageError(
            f"{path} holds the {told['kind']} {told['name']!r}, and no {kind}", remedy=f"Give the folder of: {kind}."
        )
    return cast("dict[str, Any]", told)


def load_weights(thing: Any, path: Path, told: Mapping[str, Any]) -> None:
    """Give a new component the weights of its folder, if it should have any, and make sure that they are its own."""
    if has_weights(thing) != (WEIGHTS in told):
        lack = "no weights" if has_weights(thing) else "weights, and needs none"
        raise ModelError(f"the {told['kind']} {told['name']!r} in {path} has {lack}", remedy=_AGAIN)
    if not has_weights(thing):
        return
    try:
        thing.load_weights(path, told)
    except VeridicalError:
        raise
    except Exception as error:  # whatever reading a missing, cut or foreign file may raise
        reason = f"{type(error).__name__}: {error}"
        raise ModelError(f"the weights in {path} cannot be read: {reason}", remedy=_AGAIN) from error
    if (found := thing.fingerprint) != told[WEIGHTS]:
        raise ModelError(
            f"the weights in {path} have the fingerprint {found}, and {COMPONENT_FILE} says {told[WEIGHTS]}",
            remedy=f"The files do not belong together. {_AGAIN}",
        )


def _check_version(told: Any, path: Path) -> None:
    """Refuse what is no component at all, and what a later version of this program wrote, whatever its form is."""
    if not (
        isinstance(told, dict) and told.get("format") == _COMPONENT_FORMAT and isinstance(told.get("version"), int)
    ):
        raise _no_component(path / COMPONENT_FILE)
    if told["version"] > _COMPONENT_VERSION:
        newer = f"component version {told['version']}, this reads {_COMPONENT_VERSION}"
        raise StorageError(
            f"{path} was written by a newer Veridical ({newer})",
            remedy="Upgrade with `pip install --upgrade veridical`.",
        )


def _has_texts(told: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(told.get(key), str) for key in keys)


def _no_component(file: Path) -> StorageError:
    return StorageError(f"{file} is damaged: it describes no component", remedy=_AGAIN)


RUN_FILE = "run.json"
_RUN_FORMAT, _RUN_VERSION = "veridical-run", 1

FOUND = {"found": True}
"""The metadata of a field that says what came of a run, and not what was asked for."""

LATER = {"later": True}
"""The metadata of a field that records of the first version do not have."""

_BESIDE = {"schedule": {"report_to"}}
"""Parts of a field that change nothing of what comes of a run."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What every record says: the versions of what computes, and whether the run is finished."""

    job: ClassVar[str]

    versions: dict[str, str] = field(default_factory=dict, metadata=FOUND)
    done: bool = field(default=False, metadata=FOUND)

    def asked(self) -> dict[str, Any]:
        """What makes a run this run, as it is read from a file."""
        told = {each.name: getattr(self, each.name) for each in fields(self) if not each.metadata.get("found")}
        for name, parts in _BESIDE.items():
            if name in told:
                told[name] = {key: value for key, value in told[name].items() if key not in parts}
        plain: dict[str, Any] = json.loads(json.dumps({"job": self.job, **told}))
        return plain


@dataclass(frozen=True, kw_only=True)
class TrainRecord(RunRecord):
    """A training: data, model and objective by name, schedule and settings; then its figures on dev and test.

    `notes` are sentences that somebody should know beside the figures.
    """

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
    notes: list[str] = field(default_factory=list, metadata=FOUND | LATER)


R = TypeVar("R", bound=RunRecord)


def write_record(folder: str | os.PathLike[str], record: RunRecord) -> None:
    """Write the record of a run into its folder."""
    told = {"format": _RUN_FORMAT, "version": _RUN_VERSION, "job": record.job, **asdict(record)}
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
    said = [each.name for each in fields(kind) if each.name in told or not each.metadata.get("later")]
    if wrong := mistyped(kind, told, said):
        raise _damaged(path, f"{wrong!r} is missing or of a wrong type")
    return kind(**{name: told[name] for name in said})


def mistyped(kind: type, told: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """The first of some fields of a dataclass that a file does not tell, or tells with a value of another type."""
    hints = typing.get_type_hints(kind)
    return next((name for name in names if not isinstance(told.get(name), _classes(hints[name]))), None)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        told = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # no JSON, or not even text
        raise _damaged(path, str(error)) from error
    if not isinstance(told, dict) or told.get("format") != _RUN_FORMAT or not isinstance(told.get("job"), str):
        raise _damaged(path, "it describes no run")
    if not isinstance(told.get("version"), int):
        raise _damaged(path, "it does not say its version")
    if told["version"] > _RUN_VERSION:
        problem = f"{path} was written by a newer Veridical (run version {told['version']}, this reads {_RUN_VERSION})"
        raise StorageError(problem, remedy="Upgrade with `pip install --upgrade veridical`.")
    return told


def _classes(hint: Any) -> tuple[type, ...]:
    """The classes that a value of a type is of: `dict` for `dict[str, float]`, two for `str | None`."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        return tuple(each for part in typing.get_args(hint) for each in _classes(part))
    if hint is float:
        return (float, int)  # JSON may have written 1.0 as 1
    return (typing.get_origin(hint) or hint,)


def _damaged(path: Path, problem: str) -> StorageError:
    return StorageError(f"{path} is damaged: {problem}", remedy="Choose another folder, or delete this one.")
