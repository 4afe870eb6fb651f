"""What a type hint allows: a value checked by it, the same in words for people, and as JSON Schema for programs.

Options are of the types that can be written on a command line and in JSON: `int`, `float`, `str`, `bool`, `None`,
`Literal`, tuples and unions of these, each with limits as `Annotated` metadata. `is_plain` tells them from all others.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Protocol, Union, runtime_checkable

from veridical.core.errors import UsageError

_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    type(None): "none",
}
_TYPES: dict[Any, str] = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_LONGEST = 60


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
class Place:
    """Where a value stands, for messages: `where` is how it was written, `name` the option, `takes` what that may be.

    >>> Place("lime(samples=0)", "samples", "a whole number, 1 or more")
    """

    where: str
    name: str
    takes: str

    def wrong(self, problem: str) -> UsageError:
        """The error for a value that does not fit."""
        return UsageError(f"{self.where} {problem}", remedy=f"{self.name} is {self.takes}.")


def fit(value: Any, hint: Any, place: Place) -> Any:
    """The value in the type of the hint, or an error that says where it stands and what is allowed there."""
    origin, parts = _kind(hint)
    if origin is Annotated:
        return _fit_limits(value, hint, place)
    if origin is Union:
        return _fit_one_of(value, parts, place)
    if origin is tuple:
        return _fit_members(value, parts, place)
    if origin is Literal:
        # Types are compared as well: True equals 1, and would pass for it.
        if not any(type(value) is type(choice) and value == choice for choice in parts):
            raise UsageError(
                f"{place.where} is not possible", remedy=f"{place.name} is one of: {', '.join(map(str, parts))}."
            )
        return value
    return _SIMPLE[hint](value, place) if hint in _SIMPLE else value


def words(hint: Any) -> str:
    """What the hint allows, for people: `a whole number, 1 or more`, `sum, mean or l2`."""
    origin, parts = _kind(hint)
    if origin is Annotated:
        return ", ".join([words(parts[0]), *map(str, _limits(hint))])
    if origin is Union:
        return _either([words(part) for part in parts])
    if origin is Literal:
        return _either([str(part) for part in parts])
    if origin is tuple:
        return f"a list of: {'; '.join(dict.fromkeys(words(part) for part in parts if part is not ...))}"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def schema(hint: Any) -> dict[str, Any]:
    """What the hint allows, as JSON Schema."""
    origin, parts = _kind(hint)
    if origin is Annotated:
        told = schema(parts[0])
        for limit in _limits(hint):
            told |= limit.schema
        return told
    if origin is Union:
        return {"anyOf": [schema(part) for part in parts]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple:
        if parts[1:] == (...,):
            return {"type": "array", "items": schema(parts[0])}
        return {
            "type": "array",
            "prefixItems": [schema(part) for part in parts],
            "minItems": len(parts),
            "items": False,
        }
    return {"type": _TYPES[hint]} if hint in _TYPES else {}


def is_plain(hint: Any) -> bool:
    """Whether values of the hint can be checked, written on a command line and put into JSON."""
    origin, parts = _kind(hint)
    if origin is Annotated:
        return is_plain(parts[0])
    if origin in (Union, tuple):
        return all(is_plain(part) for part in parts if part is not ...)
    return origin is Literal or hint in _TYPES


def shown(value: Any) -> str:
    """A value as it is written in messages, short enough for a line."""
    written = " ".join((value if isinstance(value, str) else repr(value)).split())
    return written if len(written) <= _LONGEST else f"{written[: _LONGEST - 3]}..."


def _kind(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """What the hint is made of. `X | Y` and `Union[X, Y]` are the same thing."""
    origin = typing.get_origin(hint)
    return Union if origin is types.UnionType else origin, typing.get_args(hint)


def _limits(hint: Any) -> list[Limit]:
    return [each for each in hint.__metadata__ if isinstance(each, Limit)]


def _fit_limits(value: Any, hint: Any, place: Place) -> Any:
    fitting = fit(value, typing.get_args(hint)[0], place)
    for limit in _limits(hint):
        limit.check(place.where, place.name, fitting)
    return fitting


def _fit_one_of(value: Any, choices: tuple[Any, ...], place: Place) -> Any:
    """The value as the first of the types that takes it."""
    if value is None and type(None) in choices:
        return None
    kinds = [each for each in choices if each is not type(None)]
    problems = []
    for choice in sorted(kinds, key=lambda kind: _kind(kind)[0] is not Literal):  # `auto` first, then what has limits
        try:
            return fit(value, choice, place)
        except UsageError as problem:
            problems.append(problem)
    if value is not None and len(problems) == 1:
        raise problems[0]  # beside none there is one type only, and its own error says more
    raise place.wrong("is not possible")


def _fit_members(value: Any, parts: tuple[Any, ...], place: Place) -> tuple[Any, ...]:
    """The value as a tuple whose members fit; a single value is a list of one."""
    members = tuple(value) if isinstance(value, list | tuple) else (value,)
    kinds = (parts[0],) * len(members) if parts[1:] == (...,) else parts
    if len(kinds) != len(members):
        raise UsageError(f"{place.where} has {len(members)} values", remedy=f"{place.name} has {len(kinds)}.")
    inner = replace(place, name=f"each of {place.name}", takes=words(kinds[0])) if kinds else place
    fitting = tuple(fit(member, kind, inner) for member, kind in zip(members, kinds, strict=True))
    return value if isinstance(value, tuple) and _same(fitting, value) else fitting


def _same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return all(one is other for one, other in zip(first, second, strict=True))


def _whole_number(value: Any, place: Place) -> int:
    # Numbers of numpy are welcome and become Python's, which JSON knows; True is no number here.
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise place.wrong("has the wrong type")
    return int(value)


def _number(value: Any, place: Place) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise place.wrong("has the wrong type")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise place.wrong("is not a finite number")
    return number


def _text(value: Any, place: Place) -> str:
    if not isinstance(value, str):
        raise place.wrong("has the wrong type")
    return value if type(value) is str else str(value)


def _truth(value: Any, place: Place) -> bool:
    if not isinstance(value, bool):
        raise place.wrong("has the wrong type")
    return value


_SIMPLE: dict[Any, Callable[[Any, Place], Any]] = {int: _whole_number, float: _number, str: _text, bool: _truth}


def _either(choices: list[str]) -> str:
    """Several choices as a list in words; a comma before the `or` where a choice has commas of its own."""
    if len(choices) == 1:
        return choices[0]
    comma = "," if any("," in choice for choice in choices[:-1]) else ""
    return f"{', '.join(choices[:-1])}{comma} or {choices[-1]}"
