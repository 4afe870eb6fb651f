"""The mechanics that all made text shares: laying words out, remembering where they are, keeping splits apart."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from veridical.core.errors import UsageError
from veridical.core.example import Example, Unit
from veridical.data.chance import Chance

Difficulty = Literal["easy", "medium", "hard"]
_TRIES = 200


@dataclass(frozen=True)
class Planted:
    """A word that was put there on purpose: a reason for the label, or (`role="shortcut"`) a companion of it."""

    text: str
    role: Literal["reason", "shortcut", "decoy"] = "reason"


Block = tuple[Planted, ...]
"""Planted words that stand directly after each other."""


def lay_out(blocks: Sequence[Block], length: int, fillers: Sequence[str], chance: Chance) -> list[Planted | str]:
    """Words of a text: the blocks in their order, at random places among fillers."""
    spare = length - sum(map(len, blocks))
    if spare < 0:
        least = sum(map(len, blocks))
        raise UsageError(f"length={length} is too short for what is planted", remedy=f"Use at least {least}.")
    slots = sorted(chance.shuffled(range(spare + len(blocks)))[: len(blocks)])
    words: list[Planted | str] = []
    for slot in range(spare + len(blocks)):
        words += blocks[slots.index(slot)] if slot in slots else [chance.pick(fillers)]
    return words


def write(words: Sequence[Planted | str], field: str) -> tuple[str, dict[str, list[Unit]]]:
    """The text of the words, and the units of what was planted by role."""
    units: dict[str, list[Unit]] = {"reason": [], "shortcut": [], "decoy": []}
    text = ""
    for word in words:
        text += " " if text else ""
        if isinstance(word, Planted):
            units[word.role].append(Unit(field, (len(text), len(text) + len(word.text)), word.text))
        text += word.text if isinstance(word, Planted) else word
    return text, units


def grow(split: str, count: int, make: Callable[[int], Example]) -> tuple[Example, ...]:
    """Make `count` different examples whose texts belong to the split.

    The text itself decides which split may have it (by its checksum), so splits never share a text, and none depends
    on the size of another. `make(at)` is asked again until the text fits; it gives another one each time.
    """
    found: dict[str, Example] = {}
    for at in range(count):
        for _ in range(_TRIES):
            example = make(at)
            key = "\n".join(map(str, example.inputs.values()))
            if key not in found and _home(key) == split:
                found[key] = example
                break
        else:
            problem = f"there are not {count} different texts for {split} with these options"
            raise UsageError(problem, remedy="Ask for longer texts, a harder set or fewer examples.")
    return tuple(found.values())


def _home(text: str) -> str:
    return ("train", "train", "dev", "test")[zlib.crc32(text.encode()) % 4]


def names_of(classes: int) -> tuple[str, ...]:
    """Class names by number: negative and positive for two, else `class-0`, `class-1`, ..."""
    return ("negative", "positive") if classes == 2 else tuple(f"class-{number}" for number in range(classes))


def require(holds: bool, problem: str, remedy: str) -> None:
    """Raise a usage error unless an option makes sense."""
    if not holds:
        raise UsageError(problem, remedy=remedy)
