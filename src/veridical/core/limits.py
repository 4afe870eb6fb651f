"""Numbers with limits: what an option may be, said where the option is declared and checked when a thing is made."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from veridical.core.errors import UsageError


@dataclass(frozen=True)
class Within:
    """From `least` to `most`; with `open`, `least` itself is too little."""

    least: float
    most: float = float("inf")
    open: bool = False

    def holds(self, value: float) -> bool:
        return (self.least < value if self.open else self.least <= value) and value <= self.most

    def __str__(self) -> str:
        lowest = f"more than {self.least:.12g}" if self.open else f"{self.least:.12g} or more"
        return lowest if self.most == float("inf") else f"{lowest} and at most {self.most:.12g}"


Count = Annotated[int, Within(1)]
Number = Annotated[int, Within(0)]
Weight = Annotated[float, Within(0)]
Positive = Annotated[float, Within(0, open=True)]
Share = Annotated[float, Within(0, 1, open=True)]
Probability = Annotated[float, Within(0, 1)]


def check_limits(thing: Any) -> None:
    """Refuse a dataclass one of whose numbers is beyond its limits; None, where it is allowed, has none."""
    cls: type = type(thing)
    for option, limits in limits_of(cls).items():
        value = getattr(thing, option)
        if value is not None and not limits.holds(value):
            raise UsageError(f"{cls.__name__}({option}={value}) is beyond its limits", remedy=f"{option} is {limits}.")


@cache
def limits_of(cls: type) -> dict[str, Within]:
    """The limits of a dataclass's numbers, by name."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {option: limits for option, hint in hints.items() if (limits := _found(hint))}


def _found(hint: Any) -> Within | None:
    """The limits in a hint: `Count` has some, and so has `Count | None`."""
    found = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Within)]
    found += [limits for part in typing.get_args(hint) if (limits := _found(part))]
    return found[0] if found else None
