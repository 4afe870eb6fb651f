"""All edits of an example that should not change what it says, by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from veridical.core.example import Unit
from veridical.core.registry import unknown
from veridical.data.chance import Chance
from veridical.metrics.attacking.contractions import contractions
from veridical.metrics.attacking.edits import Edit, words_of
from veridical.metrics.attacking.finders import Finder, Kind, entities
from veridical.metrics.attacking.lists import Lists, others
from veridical.metrics.attacking.names import other_names
from veridical.metrics.attacking.numbers import numbers
from veridical.models.words import Span

Changes = list[tuple[Span, str]]


@dataclass(frozen=True)
class Means:
    """What edits are made of: a finder, lists, chance, and how many replacements there are of each thing."""

    finder: Finder
    lists: Lists
    chance: Chance
    replacements: int

    def found(self, text: str, kind: Kind) -> list[Span]:
        """Where the text names a person or a place."""
        return [entity.span for entity in entities(self.finder, text) if entity.kind == kind]


def _contractions(text: str, _: Means) -> Changes:
    return contractions(text)


def _names(text: str, means: Means) -> Changes:
    return [
        change
        for person in means.found(text, "person")
        for change in other_names(text, person, means.lists, means.chance, means.replacements)
    ]


def _numbers(text: str, means: Means) -> Changes:
    return numbers(text, means.chance, means.replacements)


def _locations(text: str, means: Means) -> Changes:
    return [
        (span, other)
        for span in means.found(text, "place")
        for other in others(text[slice(*span)], means.lists.places(), means.chance, means.replacements)
    ]


EDITS: dict[str, Callable[[str, Means], Changes]] = {
    "contractions": _contractions,
    "names": _names,
    "numbers": _numbers,
    "locations": _locations,
}


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse a kind of edit that there is not."""
    for kind in kinds:
        if kind not in EDITS:
            raise unknown("edit", kind, EDITS)


def edits_of(inputs: Mapping[str, str], units: Sequence[Unit], kinds: Sequence[str], means: Means) -> list[Edit]:
    """The edits of some kinds, in the order of the text, of words that are among the units.

    Words that the model does not read, or that are held as context, are not.
    """
    return [
        edit
        for field, text in inputs.items()
        if (own := [unit.span for unit in units if unit.field == field])
        for edit in _of_text(field, text, kinds, means)
        if own[0][0] <= edit.span[0] and edit.span[1] <= own[-1][1]
    ]


def _of_text(field: str, text: str, kinds: Sequence[str], means: Means) -> list[Edit]:
    words = words_of(text)
    changes = {change for kind in EDITS if kind in kinds for change in EDITS[kind](text, means)}
    return [
        Edit(field, span, new, tuple(word for word in words if word[0] < span[1] and span[0] < word[1]))
        for span, new in sorted(changes)
    ]
