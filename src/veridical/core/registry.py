"""Tables of components: how `integrated-gradients(steps=20)` becomes an object, and an object becomes data again.

A name means, in this order: a built-in component, one that `register` added, a plug-in's entry point. A path means a
folder that holds a component: its options as JSON, and its weights, if it has learned any, as safetensors.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from veridical.core.component import NameOf, check, check_options, options_of, schema_of, unknown
from veridical.core.errors import ModelError, UsageError, VeridicalWarning
from veridical.core.folders import (
    COMPONENT_FILE,
    WEIGHTS,
    has_weights,
    holds_component,
    load_weights,
    looks_like_path,
    read_folder,
    write_folder,
)
from veridical.core.hints import is_plain
from veridical.core.syntax import Term, parse_one

RESERVED = ("name", "preset", "weights")
"""Words that a spec or a string uses beside options, so that no option can have them as its name."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True)
class Requirements:
    """What every component of a kind must have: some `members`, and `needs` that are `abilities`."""

    kind: str
    members: tuple[str, ...] = ()
    abilities: type[StrEnum] | None = None

    def check_class(self, name: str, cls: Any) -> None:
        """Refuse a class that could not be used under that name."""
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise UsageError(
                f"{name!r:.60} cannot name a component", remedy="Give a text of small letters, digits, - and _."
            )
        if not (isinstance(cls, type) and "__dataclass_fields__" in vars(cls)):
            raise UsageError(
                f"{name!r} is no dataclass, so its options are not known",
                remedy="Put @dataclass(frozen=True) directly above the class, below other decorators.",
            )
        self._check_members(cls)
        self._check_needs(cls, getattr(cls, "needs", ()))
        _check_options(cls)

    def check_thing(self, thing: Any, names: Mapping[str, Any]) -> None:
        """Refuse an object that is no component of this kind, or one with wrong options; `names` are those known."""
        if not is_dataclass(thing) or isinstance(thing, type):
            given, remedy = (
                f"{type(thing).__name__} {thing!r:.60}",
                "Give a name, a folder, or an object of a dataclass.",
            )
            if isinstance(thing, type):
                given, remedy = (
                    f"the class {thing.__name__}",
                    f"Give an object of it, as {thing.__name__}(), or a name.",
                )
            raise UsageError(
                f"{given} cannot be used as {self.kind}", remedy=f"{remedy} Names are: {', '.join(sorted(names))}."
            )
        self._check_members(type(thing))
        self._check_needs(type(thing), getattr(thing, "needs", ()))
        check(thing)

    def _check_members(self, cls: type) -> None:
        unwritten = sorted(getattr(cls, "__abstractmethods__", ()))
        missing = list(dict.fromkeys([each for each in self.members if not hasattr(cls, each)] + unwritten))
        if missing:
            raise UsageError(
                f"{cls.__name__} cannot be used as {self.kind}: it has no `{missing[0]}`",
                remedy=f"Write what is missing: {', '.join(missing)}. Veridical's base classes have some of it.",
            )

    def _check_needs(self, cls: type, needs: Any) -> None:
        if self.abilities is None or isinstance(needs, property):  # a property is known of an object only
            return
        known = {each.value: each for each in self.abilities}
        if not isinstance(needs, str | frozenset | set | tuple | list):
            raise UsageError(
                f"{cls.__name__} cannot be used as {self.kind}: its `needs` are {needs!r:.60}",
                remedy=f"`needs` is a frozenset of: {', '.join(sorted(known))}.",
            )
        for need in {needs} if isinstance(needs, str) else needs:
            if need not in known:
                raise unknown(f"ability, which {cls.__name__} needs:", need, known)


def _check_options(cls: type) -> None:
    """Refuse options that could not be written on a command line, put into JSON, or told from the rest of a spec."""
    for name, each in options_of(cls).items():
        if name in RESERVED:
            raise UsageError(f"{cls.__name__} has an option {name!r}, which means something else", remedy="Rename it.")
        if not is_plain(each.hint):
            raise UsageError(
                f"the option {name!r} of {cls.__name__} has the type {each.takes}, which cannot be checked",
                remedy="Options are of int, float, str, bool, None, Literal, or tuples and unions of these.",
            )


def plug_ins(group: str, requirements: Requirements, builtin: Mapping[str, type]) -> dict[str, type]:
    """The classes that installed packages announce under an entry point group, by name.

    A name that is taken is refused. A plug-in that cannot be imported, or that is no component, is left out with a
    warning, so that all others still work.
    """
    found: dict[str, type] = {}
    owners = {name: f"{cls.__module__}:{cls.__qualname__}" for name, cls in builtin.items()}
    for point in entry_points(group=group):
        if owners.setdefault(point.name, point.value) != point.value:
            raise _taken(point, requirements.kind, owners[point.name])
        try:
            cls = point.load()
            requirements.check_class(point.name, cls)
        except Exception as error:  # whatever a stranger's module may raise
            problem = f"the plug-in {point.value} ({requirements.kind} {point.name!r}) is left out: {error}"
            warnings.warn(problem, VeridicalWarning, stacklevel=2)
            continue
        found[point.name] = cls
    return found


def _taken(point: EntryPoint, kind: str, owner: str) -> UsageError:
    package = point.dist.name if point.dist else "its package"
    return UsageError(
        f"the plug-in {point.value} names its {kind} {point.name!r}, and {owner} has that name already",
        remedy=f"Rename it, or uninstall {package}.",
    )


T = TypeVar("T")
C = TypeVar("C", bound=type)

_PRESET = "preset"


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
        self._found: dict[str, type[T]] | None = None
        self._requirements = Requirements(kind, required, abilities)

    def register(self, name: str) -> Callable[[C], C]:
        """A class decorator that adds a component to the table for as long as Python runs."""

        def add(cls: C) -> C:
            self._requirements.check_class(name, cls)
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
        if isinstance(what, os.PathLike):
            return self.load(what)
        if isinstance(what, str):
            # A folder that exists needs no quotes, whatever is in its name.
            if what not in self and holds_component(what):
                return self.load(what)
            term = parse_one(what)
            return self.build(term.name, term.options)
        self._requirements.check_thing(what, self)
        return what

    def build(self, name: str, options: Mapping[str, Any]) -> T:
        """Build the component of that name, or of that folder; `preset` names a set of options."""
        if name not in self and (looks_like_path(name) or holds_component(name)):
            return self.load(name, options)
        return self._made(name, options)

    def name_of(self, thing: T) -> str:
        """The name a component is registered under, or its class's own name."""
        return next((name for name, cls in self._table.items() if cls is type(thing)), type(thing).__name__)

    def spec(self, thing: T) -> dict[str, Any]:
        """The component as data: its name, every option, and the fingerprint of its weights if it has any."""
        options = {name: getattr(thing, name) for name in options_of(cast("type", type(thing)))}
        learned = {WEIGHTS: cast("Any", thing).fingerprint} if has_weights(thing) else {}
        return {"name": self.name_of(thing), **options, **learned}

    def written(self, thing: T) -> str:
        """The component as a person would write it: a folder, or a name and the options that are not the default."""
        folder = getattr(thing, "folder", None)
        if folder is not None:
            return str(Term(str(folder), getattr(thing, "adjusted", {})))
        known = options_of(cast("type", type(thing)))
        changed = {key: getattr(thing, key) for key, each in known.items() if getattr(thing, key) != each.default}
        return str(Term(self.name_of(thing), changed))

    def from_spec(self, spec: Mapping[str, Any]) -> T:
        """Rebuild a component from its spec; one that has learned something is in a folder, not in a spec."""
        if not isinstance(spec.get("name"), str):
            raise UsageError(f"{dict(spec)!r:.60} describes no {self.kind}: it has no name")
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
        spec = self.spec(thing)
        if spec["name"] not in self:
            raise UsageError(
                f"{spec['name']} has no name as {self.kind}, so its folder could not be read again",
                remedy="Put a decorator of veridical.register on its class.",
            )
        write_folder(thing, Path(folder), self.kind, spec, more)

    def load(self, folder: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> T:
        """The component that a folder holds; of its options only those that it calls `adjustable` can be others."""
        if not holds_component(os.fspath(folder)):
            raise UsageError(
                f"{folder} holds no {self.kind}: there is no {COMPONENT_FILE}",
                remedy=f"Give a folder of a saved {self.kind}, or one of: {', '.join(sorted(self))}.",
            )
        path = Path(os.path.expanduser(folder))
        told = read_folder(path, self.kind)
        options = options or {}
        self._check_adjustable(told["name"], folder, options)
        try:
            self._made(told["name"], told["options"])
        except UsageError as error:
            raise ModelError(f"{path / COMPONENT_FILE}: {error.problem}", remedy=error.remedy) from error
        thing = self._made(told["name"], {**told["options"], **options})
        load_weights(thing, path, told)
        # How a person called it, and nothing of its identity.
        object.__setattr__(thing, "folder", Path(folder))
        object.__setattr__(thing, "adjusted", dict(options))
        return thing

    def _check_adjustable(self, name: str, folder: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
        """Refuse options of a folder's component that were settled when it was made."""
        free = getattr(self._table.get(name), "adjustable", ())
        for option in options:
            if option not in free:
                remedy = f"Only these can be given: {', '.join(free)}." if free else "Give none."
                raise UsageError(f"the {self.kind} in {folder} has its option {option!r} already", remedy=remedy)

    def _made(self, name: str, options: Mapping[str, Any]) -> T:
        cls = self[name]
        return cls(**check_options(cls, name, self._with_preset(cls, name, options)))

    @property
    def _table(self) -> dict[str, type[T]]:
        return {**self._builtin, **self._plugins, **self._registered}

    @property
    def _plugins(self) -> dict[str, type[T]]:
        if self._found is None:
            self._found = {}  # for whatever a plug-in asks this table while it is being imported
            try:
                self._found = cast("dict[str, type[T]]", plug_ins(self.group, self._requirements, self._builtin))
            except UsageError:
                self._found = None  # a clash is told every time, not only at the first question
                raise
        return self._found

    def _with_preset(self, cls: type[T], name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(options)
        preset = given.pop(_PRESET, None)
        if preset is None:
            return given
        presets: Mapping[str, Mapping[str, Any]] = getattr(cls, "presets", {})
        if not isinstance(preset, str) or preset not in presets:
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
