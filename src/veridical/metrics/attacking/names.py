"""Names of persons, and other names for them."""

from __future__ import annotations

import regex

from veridical.data.chance import Chance
from veridical.metrics.attacking.lists import Groups, Lists, others
from veridical.models.words import Span

_NAME = regex.compile(r"\p{L}{2,}(?:-\p{L}+)*")


def other_names(text: str, person: Span, lists: Lists, chance: Chance, count: int) -> list[tuple[Span, str]]:
    """For the first and for the last name of a person `count` others each; names between them stay."""
    words = [match.span() for match in _NAME.finditer(text, *person)]
    return [
        (span, other)
        for span, groups in _parts(text, words, lists)
        for other in others(text[slice(*span)], groups, chance, count)
    ]


def _parts(text: str, words: list[Span], lists: Lists) -> list[tuple[Span, Groups]]:
    """The words to replace, each with the names it is one of."""
    if not words:
        return []
    if len(words) > 1:
        return [(words[0], lists.first_names()), (words[-1], lists.last_names())]
    word = text[slice(*words[0])]
    is_last = _has(lists.last_names(), word) and not _has(lists.first_names(), word)
    return [(words[0], lists.last_names() if is_last else lists.first_names())]


def _has(groups: Groups, word: str) -> bool:
    return any(word.casefold() == name.casefold() for group in groups for name in group)
