"""Name tables: how `integrated-gradients(steps=20)` becomes an object, and an object becomes data again.

Every registered thing is a frozen dataclass: its fields are its options, in the CLI, in files and in the web alike.
Built-ins and plug-ins come through the same door; a plug-in adds an entry point to the table's group.
"""

from __future__ import annotations

import difflib
import types
import typing
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, Generic, Literal, TypeVar, Union, cast

from veridical.core.errors import UsageError
from veridical.core.syntax import Term, parse_one

T = TypeVar("T")


class Registry(Generic[T], Mapping[str, type[T]]):
    """A table from names to dataclasses, open to plug-ins.

    >>> EXPLAINERS.create("input-x-gradient(aggregate=l2)")        # options by name
    >>> EXPLAINERS.create("input-x-gradient(preset=saloss)")       # a published setting
    """

    def __init__(self, kind: str, group: str, table: Mapping[str, type[T]]) -> None:
        self.kind = kind
        self.group = group
        self._builtin = dict(table)

    @cached_property
    def _table(self) -> dict[str, type[T]]:
        plugins = dict(self._plugins())
        if taken := sorted(plugins.keys() & self._builtin.keys()):
            raise UsageError(f"a plug-in gives {self.kind} the built-in name {taken[0]!r}", remedy="Rename it.")
        return {**self._builtin, **plugins}

    def _plugins(self) -> Iterator[tuple[str, type[T]]]:
        for point in entry_points(group=self.group):
            try:
                yield point.name, point.load()
            except Exception as error:  # whatever a stranger's module may raise; the other names must still work
                warnings.warn(
                    f"the plug-in {point.value} ({self.kind} {point.name!r}) is left out: {error}", stacklevel=2
                )

    def __getitem__(self, name: str) -> type[T]:
        try:
            return self._table[name]
        except KeyError:
            raise unknown(self.kind, name, self._table) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def create(self, what: str | T) -> T:
        """Build the thing that a string describes; an object is returned as it is."""
        if not isinstance(what, str):
            return what
        term = parse_one(what)
        return self.build(term.name, term.options)

    def build(self, name: str, options: Mapping[str, Any]) -> T:
        """Build the thing of that name with checked options; `preset` names a set of them."""
        cls = self[name]
        options = dict(options)
        preset = options.pop("preset", None)
        if preset is not None:
            presets: dict[str, dict[str, Any]] = getattr(cls, "presets", {})
            if preset not in presets:
                raise unknown(f"preset of {name}", preset, presets)
            options = {**presets[preset], **options}
        return cls(**check_options(cls, name, options))

    def name_of(self, thing: T) -> str:
        """The name a thing is registered under, or its class's own name."""
        return next((name for name, cls in self.items() if cls is type(thing)), type(thing).__name__)

    def spec(self, thing: T) -> dict[str, Any]:
        """The thing as data: its name and every option, from which `from_spec` rebuilds it."""
        options = asdict(cast("Any", thing)) if is_dataclass(thing) else {}
        return {"name": self.name_of(thing), **options}

    def written(self, thing: T) -> str:
        """The thing as a person would write it: its name and the options that are not the default."""
        known = options_of(type(thing))
        changed = {key: getattr(thing, key) for key in known if getattr(thing, key) != _default_of(known[key])}
        return str(Term(self.name_of(thing), changed))

    def from_spec(self, spec: Mapping[str, Any]) -> T:
        """Rebuild a thing from its spec."""
        return self.build(spec["name"], {key: value for key, value in spec.items() if key != "name"})


def unknown(kind: str, name: str, known: Mapping[str, Any]) -> UsageError:
    """The error for a name nobody knows, with the nearest one that exists."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return UsageError(f"unknown {kind} {name!r}", remedy=f"{hint}There are: {', '.join(sorted(known)) or 'none'}.")


def options_of(cls: type) -> dict[str, Field[Any]]:
    """The options of a registered class, by name."""
    return {option.name: option for option in fields(cls) if option.init} if is_dataclass(cls) else {}


def check_options(cls: type, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in the types their class declares, or say which one is wrong and why."""
    known = options_of(cls)
    hints = typing.get_type_hints(cls)
    checked = {}
    for key, value in options.items():
        if key not in known:
            raise unknown(f"option of {name}", key, known)
        checked[key] = _coerce(f"{name}({key}=...)", value, hints[key])
    missing = [key for key, option in known.items() if key not in checked and _required(option)]
    if missing:
        raise UsageError(f"{name} needs the option {missing[0]!r}", remedy=f"Write {name}({missing[0]}=...).")
    return checked


def _default_of(option: Field[Any]) -> Any:
    return option.default if option.default_factory is MISSING else option.default_factory()


def _required(option: Field[Any]) -> bool:
    return option.default is MISSING and option.default_factory is MISSING


def _coerce(where: str, value: Any, hint: Any) -> Any:
    origin, choices = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        if value not in choices:
            listed = ", ".join(map(str, choices))
            raise UsageError(f"{where} cannot be {value!r}", remedy=f"It is one of: {listed}.")
        return value
    if origin in (Union, types.UnionType):
        return _coerce_union(where, value, choices)
    if origin is tuple:
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint in (int, float, str, bool) and type(value) is not hint:
        raise UsageError(f"{where} takes {_KINDS[hint]}, not {value!r}")
    return value


_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _coerce_union(where: str, value: Any, choices: tuple[Any, ...]) -> Any:
    if value is None and type(None) in choices:
        return None
    problem: UsageError | None = None
    for choice in choices:
        try:
            if choice is not type(None):
                return _coerce(where, value, choice)
        except UsageError as error:
            problem = error
    raise problem or UsageError(f"{where} cannot be {value!r}")
