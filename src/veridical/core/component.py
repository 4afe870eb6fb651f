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
import math
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, is_dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

from veridical.core.errors import UsageError
from veridical.core.hints import Place, fit, schema, shown, words

T = TypeVar("T")

_HELP = "help"


def option(default: T, help: str) -> T:
    """Declare an option: its default, and one sentence that says what it does."""
    declared: T = field(default=default, metadata={_HELP: help})
    return declared


def required(help: str) -> Any:
    """Declare an option that has no default."""
    return field(metadata={_HELP: help})


@dataclass(frozen=True)
class Within:
    """A number from `least` to `most`; with `open`, `least` itself is too little."""

    least: float
    most: float = math.inf
    open: bool = False

    def check(self, where: str, name: str, value: float) -> None:
        enough = self.least < value if self.open else self.least <= value
        if not (enough and value <= self.most):
            raise UsageError(f"{where} is beyond its limits", remedy=f"{name} is {self}.")

    @property
    def schema(self) -> dict[str, Any]:
        lowest = {"exclusiveMinimum" if self.open else "minimum": self.least}
        return lowest if self.most == math.inf else {**lowest, "maximum": self.most}

    def __str__(self) -> str:
        lowest = f"more than {self.least:.12g}" if self.open else f"{self.least:.12g} or more"
        return lowest if self.most == math.inf else f"{lowest} and at most {self.most:.12g}"


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


@dataclass(frozen=True)
class NameOf:
    """The name of another component, with or without options; `make` builds it and says what is wrong with it."""

    kind: str
    make: Callable[[str], Any]
    names: Callable[[], list[str]]

    def check(self, where: str, name: str, value: str) -> None:
        self.make(value)

    @property
    def schema(self) -> dict[str, Any]:
        return {"examples": self.names()}

    def __str__(self) -> str:
        return f"the name of {self.kind}"


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
        """Whether there is no default."""
        return self.default is MISSING

    @property
    def takes(self) -> str:
        """What it may be, in words: `a whole number, 1 or more`, `sum, mean or l2`."""
        return words(self.hint)

    @property
    def schema(self) -> dict[str, Any]:
        """The option in JSON Schema."""
        told = schema(self.hint) | ({"description": self.help} if self.help else {})
        return told if self.is_required else told | {"default": _plain(self.default)}


@cache
def options_of(cls: type) -> dict[str, Option]:
    """The options of a component class, by name."""
    if not is_dataclass(cls):
        return {}
    hints = _hints_of(cls)
    return {
        each.name: Option(each.name, hints[each.name], _default_of(each), each.metadata.get(_HELP, ""))
        for each in dataclasses.fields(cls)
        if each.init
    }


def _hints_of(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError as error:  # a type that is imported for the type checker only, or defined inside of a function
        raise UsageError(
            f"the types of the options of {cls.__name__} cannot be read: {error}",
            remedy="Import or define them at the top of its module, where they are found while Python runs.",
        ) from error


def schema_of(cls: type) -> dict[str, Any]:
    """The options of a component class as JSON Schema, for forms and other programs."""
    known = options_of(cls)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": cls.__name__,
        "description": first_paragraph(cls),
        "properties": {name: each.schema for name, each in known.items()},
        "required": [name for name, each in known.items() if each.is_required],
        "additionalProperties": False,
    }


def first_paragraph(cls: type) -> str:
    """What a component is, in the first paragraph of its docstring; empty where nobody wrote one."""
    text = cls.__doc__ or ""
    # A dataclass without a docstring gets its signature as one.
    return "" if text.startswith(f"{cls.__name__}(") else " ".join(text.split("\n\n")[0].split())


def check(thing: Any) -> None:
    """Refuse a component whose options are of a wrong type or beyond their limits.

    Values that mean the same are replaced in place: a list becomes a tuple, and 1 becomes 1.0 where numbers are floats.
    """
    cls: type = type(thing)
    for name, each in options_of(cls).items():
        value = getattr(thing, name)
        checked = _checked(cls.__name__, each, value)
        if checked is not value:
            object.__setattr__(thing, name, checked)  # past the frozen dataclass: the same value in its own type


def check_options(cls: type, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in the types that their class declares, or say which one is wrong and why.

    `name` is what the component is called where the options were written.
    """
    known = options_of(cls)
    checked = {}
    for key, value in options.items():
        if key not in known:
            raise unknown(f"option of {name}", key, _offered(cls))
        checked[key] = _checked(name, known[key], value)
    missing = [key for key, each in known.items() if key not in checked and each.is_required]
    if missing:
        raise UsageError(f"{name} needs the option {missing[0]!r}", remedy=f"Write {name}({missing[0]}=...).")
    return checked


def _offered(cls: type) -> Collection[str]:
    """The options that a person can give: what has to learn before it is of use was built by the others."""
    learns = getattr(cls, "learned_by", "")
    return getattr(cls, "adjustable", ()) if learns else options_of(cls)


def unknown(kind: str, name: str, known: Collection[str]) -> UsageError:
    """The error for a name that nobody knows, with the nearest one that exists."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return UsageError(f"unknown {kind} {name!r}", remedy=f"{hint}There are: {', '.join(sorted(known)) or 'none'}.")


def _default_of(declared: dataclasses.Field[Any]) -> Any:
    return declared.default if declared.default_factory is MISSING else declared.default_factory()


def _checked(component: str, each: Option, value: Any) -> Any:
    return fit(value, each.hint, Place(f"{component}({each.name}={shown(value)})", each.name, each.takes))


def _plain(value: Any) -> Any:
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
