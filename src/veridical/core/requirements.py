"""What a class must be to stand in a table of components, and how the classes of plug-ins are found."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from veridical.core.component import check, options_of, unknown
from veridical.core.errors import UsageError
from veridical.core.hints import is_plain

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
            given = (
                f"the class {thing.__name__}" if isinstance(thing, type) else f"{type(thing).__name__} {thing!r:.60}"
            )
            raise UsageError(
                f"{given} cannot be used as {self.kind}",
                remedy=f"Give a name, a folder, or an object of a dataclass. Names are: {', '.join(sorted(names))}.",
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
            warnings.warn(problem, stacklevel=2)
            continue
        found[point.name] = cls
    return found


def _taken(point: EntryPoint, kind: str, owner: str) -> UsageError:
    package = point.dist.name if point.dist else "its package"
    return UsageError(
        f"the plug-in {point.value} names its {kind} {point.name!r}, and {owner} has that name already",
        remedy=f"Rename it, or uninstall {package}.",
    )
