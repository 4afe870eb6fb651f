"""Tables of components: how `integrated-gradients(steps=20)` becomes an object, and an object becomes data again.

A name means, in this order: a built-in component, one that `register` added, a plug-in's entry point. A path means a
folder that holds a component: its options as JSON, and its weights, if it has learned any, as safetensors.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from enum import StrEnum
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from veridical.core.component import NameOf, check, check_options, options_of, schema_of, unknown
from veridical.core.errors import ModelError, StorageError, UsageError
from veridical.core.storage import write_text
from veridical.core.syntax import Term, parse_one

T = TypeVar("T")
C = TypeVar("C", bound=type)

COMPONENT_FILE = "component.json"
"""What makes a folder a component: its kind, its name and its options."""

WEIGHTS = "weights"
"""The key of a spec that holds the fingerprint of what a component has learned."""

_FORMAT, _VERSION = "veridical-component", 1
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_AGAIN = "Train or copy it again."


class Registry(Generic[T], Mapping[str, type[T]]):
    """A table from names to component classes, open to notebooks and plug-ins.

    >>> EXPLAINERS.create("input-x-gradient(aggregate=l2)")        # options by name
    >>> EXPLAINERS.create("input-x-gradient(preset=saloss)")       # a published setting
    >>> EXPLAINERS.create("runs/base/explainers/mask")             # a folder

    `required` are the members that every class must have; `abilities` are what its `needs` may name.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        table: Mapping[str, type[T]],
        *,
        required: tuple[str, ...] = (),
        abilities: type[StrEnum] | None = None,
    ) -> None:
        self.kind = kind
        self.group = group
        self._builtin = dict(table)
        self._registered: dict[str, type[T]] = {}
        self._required = required
        self._abilities = abilities

    def register(self, name: str) -> Callable[[C], C]:
        """A class decorator that adds a component to the table for as long as Python runs."""

        def add(cls: C) -> C:
            self._check_class(name, cls)
            self._check_free(name, cls)
            self._registered[name] = cls
            return cls

        return add

    def __getitem__(self, name: str) -> type[T]:
        table = self._table
        if name not in table:
            raise unknown(self.kind, name, table)
        return table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def create(self, what: str | os.PathLike[str] | T) -> T:
        """Build what a string describes or a folder holds; a component is checked and returned as it is."""
        if isinstance(what, os.PathLike) or (isinstance(what, str) and _is_folder(what)):
            return self.load(what)
        if isinstance(what, str):
            return self.build(*_parts(parse_one(what)))
        self._check_thing(what)
        return what

    def build(self, name: str, options: Mapping[str, Any]) -> T:
        """Build the component of that name, or of that folder; `preset` names a set of options."""
        if name not in self and _is_folder(name):
            if options:
                raise UsageError(f"the {self.kind} in {name} has its options already", remedy="Give none.")
            return self.load(name)
        cls = self[name]
        return cls(**check_options(cls, name, self._with_preset(cls, name, options)))

    def name_of(self, thing: T) -> str:
        """The name a component is registered under, or its class's own name."""
        return next((name for name, cls in self.items() if cls is type(thing)), type(thing).__name__)

    def spec(self, thing: T) -> dict[str, Any]:
        """The component as data: its name, every option, and the fingerprint of its weights if it has any."""
        options = asdict(cast("Any", thing)) if is_dataclass(thing) else {}
        learned = {WEIGHTS: cast("Any", thing).fingerprint} if _has_weights(thing) else {}
        return {"name": self.name_of(thing), **options, **learned}

    def written(self, thing: T) -> str:
        """The component as a person would write it: a folder, or a name and the options that are not the default."""
        folder = getattr(thing, "folder", None)
        if folder is not None:
            return str(Term(str(folder)))
        known = options_of(cast("type", type(thing)))
        changed = {key: getattr(thing, key) for key, each in known.items() if getattr(thing, key) != each.default}
        return str(Term(self.name_of(thing), changed))

    def from_spec(self, spec: Mapping[str, Any]) -> T:
        """Rebuild a component from its spec; one that has learned something is in a folder, not in a spec."""
        if WEIGHTS in spec:
            raise UsageError(f"{spec['name']} has weights, which a spec does not hold", remedy="Name its folder.")
        return self.build(spec["name"], {key: value for key, value in spec.items() if key != "name"})

    def schema(self, name: str) -> dict[str, Any]:
        """The options of a component as JSON Schema."""
        return {**schema_of(self[name]), "title": name}

    def name_option(self, article: str) -> NameOf:
        """The limit of an option that names a component of this table: `Annotated[str, ERASERS.name_option("an")]`."""
        return NameOf(f"{article} {self.kind}", self.create, lambda: list(self))

    def save(self, thing: T, folder: str | os.PathLike[str], **more: Any) -> None:
        """Write a component to a folder that `create` reads; `more` is said beside its options."""
        path = Path(folder)
        spec = self.spec(thing)
        learned = {WEIGHTS: spec.pop(WEIGHTS)} if WEIGHTS in spec else {}
        told = {"format": _FORMAT, "version": _VERSION, "kind": self.kind, "name": spec.pop("name"), "options": spec}
        path.mkdir(parents=True, exist_ok=True)
        if learned:
            cast("Any", thing).save_weights(path)
        write_text(path / COMPONENT_FILE, json.dumps({**told, **learned, **more}, indent=2) + "\n")

    def load(self, folder: str | os.PathLike[str]) -> T:
        """The component that a folder holds."""
        path = Path(folder).expanduser()
        told = self._read(path)
        try:
            thing = self.build(told["name"], told["options"])
        except UsageError as error:
            raise ModelError(f"{path / COMPONENT_FILE}: {error.problem}", remedy=error.remedy) from error
        if _has_weights(thing) != (WEIGHTS in told):
            lack = "no weights" if _has_weights(thing) else "weights, and needs none"
            raise ModelError(f"the {self.kind} {told['name']!r} in {path} has {lack}", remedy=_AGAIN)
        if WEIGHTS in told:
            cast("Any", thing).load_weights(path, told)
        object.__setattr__(thing, "folder", Path(folder))  # how a person called it, and nothing of its identity
        return thing

    def _read(self, path: Path) -> dict[str, Any]:
        if not (path / COMPONENT_FILE).is_file():
            raise UsageError(
                f"{path} holds no {self.kind}: there is no {COMPONENT_FILE}",
                remedy=f"Give a folder of a saved {self.kind}, or one of: {', '.join(sorted(self))}.",
            )
        try:
            told = json.loads((path / COMPONENT_FILE).read_text(encoding="utf-8"))
            version, kind, known = told["version"], told["kind"], told["format"] == _FORMAT
            whole = isinstance(told["name"], str) and isinstance(told["options"], dict) and isinstance(version, int)
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path / COMPONENT_FILE} is damaged: {error!r}", remedy=_AGAIN) from error
        if not (known and whole):
            raise StorageError(f"{path / COMPONENT_FILE} is damaged: it describes no component", remedy=_AGAIN)
        if version > _VERSION:
            problem = f"{path} was written by a newer Veridical (component version {version}, this reads {_VERSION})"
            raise StorageError(problem, remedy="Upgrade with `pip install --upgrade veridical`.")
        if kind != self.kind:
            raise UsageError(f"{path} holds the {kind} {told['name']!r}, and not: {self.kind}")
        return cast("dict[str, Any]", told)

    @property
    def _table(self) -> dict[str, type[T]]:
        return {**self._builtin, **self._plugins, **self._registered}

    @cached_property
    def _plugins(self) -> dict[str, type[T]]:
        found: dict[str, type[T]] = {}
        for point in entry_points(group=self.group):
            if point.name in self._builtin:
                raise UsageError(
                    f"the plug-in {point.value} gives {self.kind} the built-in name {point.name!r}", remedy="Rename it."
                )
            try:
                found[point.name] = point.load()
                self._check_class(point.name, found[point.name])
            except Exception as error:  # whatever a stranger's module may raise; the other names must still work
                found.pop(point.name, None)
                warnings.warn(
                    f"the plug-in {point.value} ({self.kind} {point.name!r}) is left out: {error}", stacklevel=2
                )
        return found

    def _with_preset(self, cls: type[T], name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(options)
        preset = given.pop("preset", None)
        if preset is None:
            return given
        presets: Mapping[str, Mapping[str, Any]] = getattr(cls, "presets", {})
        if preset not in presets:
            raise unknown(f"preset of {name}", preset, presets)
        return {**presets[preset], **given}

    def _check_free(self, name: str, cls: type) -> None:
        """Refuse a name that another class has; the same class again is a notebook's cell that was run again."""
        other = self._table.get(name)
        if other is None or (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__):
            return
        raise UsageError(
            f"the {self.kind} {name!r} exists already: {other.__qualname__}", remedy="Choose another name."
        )

    def _check_class(self, name: str, cls: Any) -> None:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot name a component", remedy="Use small letters, digits, - and _.")
        if not (isinstance(cls, type) and is_dataclass(cls)):
            raise UsageError(
                f"{name!r} is no dataclass, so its options are not known", remedy="Put @dataclass(frozen=True) on it."
            )
        self._check_members(cls)
        self._check_needs(cls, getattr(cls, "needs", frozenset()))

    def _check_members(self, cls: type) -> None:
        if missing := [member for member in self._required if not hasattr(cls, member)]:
            raise UsageError(
                f"{cls.__name__} cannot be used as {self.kind}: it has no `{missing[0]}`",
                remedy=f"Inherit from veridical's base class of its kind, and write what is missing: {missing}.",
            )

    def _check_needs(self, cls: type, needs: Any) -> None:
        if self._abilities is None or isinstance(needs, property):
            return
        known = {each.value: each for each in self._abilities}
        for need in {needs} if isinstance(needs, str) else needs:
            if need not in known:
                raise unknown(f"ability, which {cls.__name__} needs:", need, known)

    def _check_thing(self, thing: Any) -> None:
        if not is_dataclass(thing) or isinstance(thing, type):
            given = (
                f"the class {thing.__name__}" if isinstance(thing, type) else f"{type(thing).__name__} {thing!r:.60}"
            )
            raise UsageError(
                f"{given} cannot be used as {self.kind}",
                remedy=f"Give a name, a folder, or an object of a dataclass. Names are: {', '.join(sorted(self))}.",
            )
        self._check_members(type(thing))
        self._check_needs(type(thing), thing.needs if hasattr(thing, "needs") else ())
        check(thing)


def _parts(term: Term) -> tuple[str, dict[str, Any]]:
    return term.name, term.options


def _is_folder(text: str) -> bool:
    """Whether a text is a path: it looks like one, or it is one that holds a component."""
    if os.sep in text.split("(")[0] or text.startswith(("~", ".")):
        return True
    try:
        return (Path(text) / COMPONENT_FILE).is_file()
    except (OSError, ValueError):  # too long, or with characters that no file has
        return False


def _has_weights(thing: Any) -> bool:
    return hasattr(thing, "save_weights")
