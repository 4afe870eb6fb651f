"""The folder of a component: `component.json` says its kind, its name and its options; weights lie beside that file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from veridical.core.errors import ModelError, StorageError, UsageError, VeridicalError
from veridical.core.storage import cannot_write, read_json, write_json

COMPONENT_FILE = "component.json"
"""What makes a folder a component."""

WEIGHTS = "weights"
"""The key of a spec, and of the file, that holds the fingerprint of what a component has learned."""

MADE_FOR = "made_for"
"""The key of the file that holds the fingerprint of the model that a component was trained with, if it needs that."""

_FORMAT, _VERSION = "veridical-component", 1
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
    told = {"format": _FORMAT, "version": _VERSION, "kind": kind, "name": spec["name"], "options": options}
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
        raise _damaged(file)
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
    if not (isinstance(told, dict) and told.get("format") == _FORMAT and isinstance(told.get("version"), int)):
        raise _damaged(path / COMPONENT_FILE)
    if told["version"] > _VERSION:
        raise StorageError(
            f"{path} was written by a newer Veridical (component version {told['version']}, this reads {_VERSION})",
            remedy="Upgrade with `pip install --upgrade veridical`.",
        )


def _has_texts(told: Mapping[str, Any], *keys: str) -> bool:
    return all(isinstance(told.get(key), str) for key in keys)


def _damaged(file: Path) -> StorageError:
    return StorageError(f"{file} is damaged: it describes no component", remedy=_AGAIN)
