"""The one way to write a configured thing in a string: `name(option=value, other="text")`, joined by `+`.

>>> parse("integrated-gradients(steps=20)")
[Term(name='integrated-gradients', options={'steps': 20})]
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from veridical.core.errors import UsageError

_NAME = re.compile(r"[^\s()+,=\[\]\"']+")
_KEY = re.compile(r"[A-Za-z_]\w*")
_BARE = re.compile(r"[^,()\[\]\"'\s][^,()\[\]\"']*")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_DEEPEST = 50
_CONSTANTS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Term:
    """A name and its options, as written."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = self.name if _NAME.fullmatch(self.name) else repr(self.name)
        if not self.options:
            return name
        return f"{name}({', '.join(f'{key}={_written(value)}' for key, value in self.options.items())})"


def parse(text: str) -> list[Term]:
    """Read `a(x=1) + b` as its terms; a mistake is reported with the character it stands at."""
    return _Reader(text).terms()


def parse_one(text: str) -> Term:
    """Read a single term."""
    reader = _Reader(text)
    terms = reader.terms()
    if len(terms) != 1:
        raise UsageError(f"expected one name, not {len(terms)}: {text!r}")
    return terms[0]


def parse_several(text: str) -> list[Term]:
    """Read `a(x=1), b`: a list of things to be done one by one."""
    return _Reader(text).terms(",")


def parse_options(text: str) -> dict[str, Any]:
    """Read `x=1, y=two`, the inside of the parentheses."""
    reader = _Reader(text)
    options = reader.options() if text.strip() else {}
    reader.expect_end()
    return options


class _Reader:
    """A cursor over the text; each method reads one rule of the grammar and moves on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0  # of lists within lists

    def terms(self, mark: str = "+") -> list[Term]:
        found = [self._term()]
        while self._take(mark):
            found.append(self._term())
        self.expect_end()
        return found

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        while True:
            key = self._match(_KEY, "an option name")
            if not self._take("="):
                self._fail(f"expected '=' after option {key!r}")
            if key in options:
                self._fail(f"option {key!r} is given twice")
            options[key] = self._value()
            if not self._take(","):
                return options

    def expect_end(self) -> None:
        self._skip()
        if self.at < len(self.text):
            self._fail(f"unexpected {self.text[self.at]!r}")

    def _term(self) -> Term:
        name = self._name()
        if not self._take("("):
            return Term(name)
        options = {} if self._peek(")") else self.options()
        if not self._take(")"):
            self._fail("expected ',' or ')'")
        return Term(name, options)

    def _name(self) -> str:
        """A name, or a path, which is quoted where it has blanks or other marks of the grammar."""
        self._skip()
        if found := _QUOTED.match(self.text, self.at):
            self.at = found.end()
            return str(_literal(found.group()))
        return self._match(_NAME, "a name")

    def _value(self) -> Any:
        if self._take("["):
            return self._members()
        for pattern in (_QUOTED, _BARE):
            if found := pattern.match(self.text, self.at):
                self.at = found.end()
                return _literal(found.group().strip())
        return self._fail("expected a value")

    def _members(self) -> tuple[Any, ...]:
        """The values of a list, after its first bracket."""
        members: list[Any] = []
        self.depth += 1
        if self.depth > _DEEPEST:  # Python would give up with a trace
            self._fail(f"more than {_DEEPEST} lists within lists")
        while not self._take("]"):
            members.append(self._value())
            if not self._take(",") and not self._peek("]"):
                self._fail("expected ',' or ']'")
        self.depth -= 1
        return tuple(members)

    def _match(self, pattern: re.Pattern[str], what: str) -> str:
        self._skip()
        found = pattern.match(self.text, self.at)
        if not found:
            self._fail(f"expected {what}")
        self.at = found.end()
        return found.group()

    def _peek(self, mark: str) -> bool:
        self._skip()
        return self.text.startswith(mark, self.at)

    def _take(self, mark: str) -> bool:
        if not self._peek(mark):
            return False
        self.at += len(mark)
        return True

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _fail(self, problem: str) -> NoReturn:
        raise UsageError(f"{problem} at character {self.at + 1}:\n  {self.text}\n  {' ' * self.at}^")


def _written(value: Any) -> str:
    """A value so that the reader reads it back, with quotes only where they are needed."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(_written(part) for part in value)}]"
    if isinstance(value, str):
        plain = _BARE.fullmatch(value) and value == value.strip() and _literal(value) == value
        return value if plain else repr(value)
    return str(value).lower() if value is None or isinstance(value, bool) else repr(value)


def _literal(text: str) -> Any:
    """A Python literal where it is one (`1`, `true`), else the text itself, without its quotes."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two: brackets within brackets
        return text[1:-1] if _QUOTED.fullmatch(text) else text
