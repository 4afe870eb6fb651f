"""Components: explainers, metrics, objectives, erasers, saliences and data sources, as values made of options.

A component is a frozen dataclass, and its fields are its options: in Python, on the command line, in files, in forms.
What an option may be is said once, where it is declared, and checked whenever a component is made:

    @dataclass(frozen=True)
    class Lime(Component):
        samples: Count = option(1000, "How many texts with words missing the model is asked about.")
"""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar, Union, runtime_checkable

from veridical.core.errors import UsageError

T = TypeVar("T")

_HELP = "help"


def option(default: T, help: str) -> T:
    """Declare an option: its default, and one sentence that says what it does."""
    declared: T = field(default=default, metadata={_HELP: help})
    return declared


def required(help: str) -> Any:
    """Declare an option that has no default."""
    return field(metadata={_HELP: help})


@runtime_checkable
class Limit(Protocol):
    """What an option may be beyond its type; stands in the metadata of an `Annotated` type."""

    def check(self, where: str, name: str, value: Any) -> None:
        """Refuse a value that must not be; `where` is how it was written, `name` is the option."""
        ...

    @property
    def schema(self) -> dict[str, Any]:
        """The same in words of JSON Schema."""
        ...


@dataclass(frozen=True)
class Within:
    """A number from `least` to `most`; with `open`, `least` itself is too little."""

    least: float
    most: float = float("inf")
    open: bool = False

    def check(self, where: str, name: str, value: float) -> None:
        enough = self.least < value if self.open else self.least <= value
        if not (enough and value <= self.most):
            raise UsageError(f"{where} is beyond its limits", remedy=f"{name} is {self}.")

    @property
    def schema(self) -> dict[str, Any]:
        lowest = {"exclusiveMinimum" if self.open else "minimum": self.least}
        return lowest if self.most == float("inf") else {**lowest, "maximum": self.most}

    def __str__(self) -> str:
        lowest = f"more than {self.least:.12g}" if self.open else f"{self.least:.12g} or more"
        return lowest if self.most == float("inf") else f"{lowest} and at most {self.most:.12g}"


@dataclass(frozen=True)
class AtLeastOne:
    """A list that must not be empty."""

    def check(self, where: str, name: str, value: tuple[Any, ...]) -> None:
        if not value:
            raise UsageError(f"{where} is empty", remedy=f"Give {name} at least one value.")

    @property
    def schema(self) -> dict[str, Any]:
        return {"minItems": 1}

    def __str__(self) -> str:
        return "at least one"


Count = Annotated[int, Within(1)]
Number = Annotated[int, Within(0)]
Weight = Annotated[float, Within(0)]
Positive = Annotated[float, Within(0, open=True)]
Share = Annotated[float, Within(0, 1, open=True)]
Probability = Annotated[float, Within(0, 1)]
Seed = Annotated[int, Within(0, 2**32 - 1)]


Presets = Mapping[str, Mapping[str, object]]
"""Sets of options by name."""


class Component:
    """Base of every built-in component: it checks its options when it is made, and knows its presets.

    `presets` are named sets of options: `lime(preset=l2e)`.
    """

    presets: ClassVar[Presets] = {}

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Option:
    """One option of a component: its name, its type, its default and what it does."""

    name: str
    hint: Any
    default: Any
    help: str

    @property
    def is_required(self) -> bool:
        return self.default is MISSING

    @property
    def takes(self) -> str:
        """What it may be, in words: `a whole number, 1 or more`, `sum, mean or l2`."""
        return _takes(self.hint)

    @property
    def schema(self) -> dict[str, Any]:
        """The option in JSON Schema."""
        told = _schema(self.hint) | ({"description": self.help} if self.help else {})
        return told if self.is_required else told | {"default": _plain(self.default)}


@cache
def options_of(cls: type) -> dict[str, Option]:
    """The options of a component class, by name."""
    if not is_dataclass(cls):
        return {}
    hints = typing.get_type_hints(cls, include_extras=True)
    return {
        each.name: Option(each.name, hints[each.name], _default_of(each), each.metadata.get(_HELP, ""))
        for each in dataclasses.fields(cls)
        if each.init
    }


def schema_of(cls: type) -> dict[str, Any]:
    """The options of a component class as JSON Schema, for forms and other programs."""
    known = options_of(cls)
    return {
        "type": "object",
        "title": cls.__name__,
        "description": first_paragraph(cls),
        "properties": {name: each.schema for name, each in known.items()},
        "required": [name for name, each in known.items() if each.is_required],
        "additionalProperties": False,
    }


def first_paragraph(cls: type) -> str:
    """What a component is, in the first paragraph of its docstring."""
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def check(thing: Any) -> None:
    """Refuse a component whose options are of a wrong type or beyond their limits; lists become tuples in place."""
    cls: type = type(thing)
    for name, each in options_of(cls).items():
        value = getattr(thing, name)
        checked = _checked(cls.__name__, each, value)
        if checked is not value:
            object.__setattr__(thing, name, checked)  # it is being made, and nobody has seen it yet


def check_options(cls: type, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in the types that their class declares, or say which one is wrong and why.

    `name` is what the component is called where the options were written.
    """
    known = options_of(cls)
    checked = {}
    for key, value in options.items():
        if key not in known:
            raise unknown(f"option of {name}", key, known)
        checked[key] = _checked(name, known[key], value)
    missing = [key for key, each in known.items() if key not in checked and each.is_required]
    if missing:
        raise UsageError(f"{name} needs the option {missing[0]!r}", remedy=f"Write {name}({missing[0]}=...).")
    return checked


def unknown(kind: str, name: str, known: Mapping[str, Any]) -> UsageError:
    """The error for a name that nobody knows, with the nearest one that exists."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return UsageError(f"unknown {kind} {name!r}", remedy=f"{hint}There are: {', '.join(sorted(known)) or 'none'}.")


def _default_of(declared: dataclasses.Field[Any]) -> Any:
    return declared.default if declared.default_factory is MISSING else declared.default_factory()


def _checked(component: str, each: Option, value: Any) -> Any:
    return _fit(f"{component}({each.name}={_shown(value)})", each, value, each.hint)


def _fit(where: str, each: Option, value: Any, hint: Any) -> Any:
    """The value in the type of the hint, or an error."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        fitting = _fit(where, each, value, parts[0])
        for limit in hint.__metadata__:
            if isinstance(limit, Limit):
                limit.check(where, each.name, fitting)
        return fitting
    if origin in (Union, types.UnionType):
        return _fit_one_of(where, each, value, parts)
    if origin is Literal:
        if not any(value == choice and type(value) is type(choice) for choice in parts):
            raise UsageError(f"{where} is not possible", remedy=f"{each.name} is one of: {', '.join(map(str, parts))}.")
        return value
    if origin is tuple:
        return _fit_tuple(where, each, value, parts)
    if hint is float and type(value) is int:
        return float(value)
    if hint in _KINDS and type(value) is not hint:
        raise UsageError(f"{where} has the wrong type", remedy=f"{each.name} is {each.takes}.")
    return value


def _fit_tuple(where: str, each: Option, value: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    members = tuple(value) if isinstance(value, list | tuple) else (value,)
    kinds = (parts[0],) * len(members) if parts[1:] == (...,) else parts
    if len(kinds) != len(members):
        raise UsageError(f"{where} has {len(members)} values", remedy=f"{each.name} has {len(kinds)}.")
    fitting = tuple(_fit(where, each, member, kind) for member, kind in zip(members, kinds, strict=True))
    unchanged = isinstance(value, tuple) and all(a is b for a, b in zip(fitting, value, strict=True))
    return value if unchanged else fitting


def _fit_one_of(where: str, each: Option, value: Any, choices: tuple[Any, ...]) -> Any:
    problems = []
    for choice in choices:
        try:
            if choice is type(None):
                if value is None:
                    return None
                continue
            return _fit(where, each, value, choice)
        except UsageError as problem:
            problems.append(problem)
    if value is not None and len(problems) == 1:
        raise problems[0]
    raise UsageError(f"{where} is not possible", remedy=f"{each.name} is {each.takes}.")


_KINDS: dict[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_TYPES: dict[Any, str] = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}


def _takes(hint: Any) -> str:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        limits = [str(limit) for limit in hint.__metadata__ if isinstance(limit, Limit)]
        return ", ".join([_takes(parts[0]), *limits])
    if origin in (Union, types.UnionType):
        return _either([_takes(part) for part in parts])
    if origin is Literal:
        return _either([str(part) for part in parts])
    if origin is tuple:
        members = parts[:1] if parts[1:] == (...,) else parts
        return f"a list of: {'; '.join(dict.fromkeys(_takes(part) for part in members))}"
    return "none" if hint is type(None) else _KINDS.get(hint, getattr(hint, "__name__", str(hint)))


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _schema(hint: Any) -> dict[str, Any]:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        told = _schema(parts[0])
        for limit in hint.__metadata__:
            told |= limit.schema if isinstance(limit, Limit) else {}
        return told
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(part) for part in parts]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple:
        if parts[1:] == (...,):
            return {"type": "array", "items": _schema(parts[0])}
        return {"type": "array", "prefixItems": [_schema(part) for part in parts], "items": False}
    return {"type": _TYPES[hint]} if hint in _TYPES else {}


def _plain(value: Any) -> Any:
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    """A value as it is written in messages, short enough for a line."""
    written = value if isinstance(value, str) else repr(value)
    return written if len(written) <= 60 else f"{written[:57]}..."


Checker = Callable[[str], Any]


@dataclass(frozen=True)
class NameOf:
    """The name of another component, with or without options; `make` builds it and says what is wrong with it."""

    kind: str
    make: Checker
    names: Callable[[], list[str]]

    def check(self, where: str, name: str, value: str) -> None:
        self.make(value)

    @property
    def schema(self) -> dict[str, Any]:
        return {"examples": self.names()}

    def __str__(self) -> str:
        return f"the name of {self.kind}"
