"""From tokens to units: what a word is, and which word or word piece each token of a text belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from unicodedata import category

import regex

from veridical.core.example import Unit

Span = tuple[int, int]

# Scripts without spaces: each character is a word of its own (a tokenizer's longer pieces join them again).
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_LETTERS = rf"[[\w\p{{M}}]--{_UNSPACED}]+"
# Inside words stand apostrophes, and the invisible marks of Persian, Indic scripts and hyphenation.
_INSIDE = r"['’\u00AD\u200C\u200D\u2060]"
_WORD = regex.compile(
    rf"\s+|{_UNSPACED}\p{{M}}*|{_LETTERS}(?:{_INSIDE}{_LETTERS})*|\p{{P}}+|\X", regex.VERSION1 | regex.UNICODE
)


def word_spans(text: str) -> list[Span]:
    """Where the words of a text begin and end; white space and invisible characters belong to none.

    >>> [text[a:b] for a, b in word_spans(text := "Don't miss it...")]
    ["Don't", 'miss', 'it', '...']
    """
    return [found.span() for found in _WORD.finditer(text) if not all(map(is_blank, found.group()))]


def is_blank(character: str) -> bool:
    """Whether a character shows nothing: white space, or a control or format character."""
    return character.isspace() or category(character) in ("Cc", "Cf")


def trim(text: str, span: Span) -> Span:
    """The span without blanks at its ends; some tokenizers count the space before a word as part of it."""
    start, end = span
    while start < end and is_blank(text[start]):
        start += 1
    while end > start and is_blank(text[end - 1]):
        end -= 1
    return start, end


def merge_overlaps(spans: list[Span]) -> list[Span]:
    """Spans in order with overlapping ones joined, so that each character belongs to at most one."""
    merged: list[Span] = []
    last = 0  # the end of the last merged span
    for start, end in sorted(spans):
        if start >= end:
            continue
        if merged and start < last:
            last = max(end, last)
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((start, end))
            last = end
    return merged


UnitKind = Literal["word", "token"]

NO_UNIT = -1

Cut = tuple[slice, ...]
"""The tokens that make a row: one slice of each text."""


@dataclass(frozen=True)
class Reading:
    """A text as a tokenizer reads it: the ids of its tokens, its units, and the unit of each token."""

    ids: Sequence[int]
    units: Sequence[Unit]
    places: Sequence[int]

    def part(self, tokens: slice) -> Reading:
        """Some of the tokens."""
        return replace(self, ids=self.ids[tokens], places=self.places[tokens])


def read_units(field: str, text: str, ids: Sequence[int], offsets: Sequence[Span], kind: UnitKind) -> Reading:
    """Find the units of a text from the characters of all its tokens.

    A token that reaches over two words joins them: they can only be erased together. Characters that the tokenizer
    throws away make no unit.
    """
    pieces = [trim(text, span) for span in offsets]
    spans = merge_overlaps(pieces + word_spans(text) if kind == "word" else pieces)
    whole = Reading(ids, [Unit(field, span, text[slice(*span)]) for span in spans], _places(pieces, offsets, spans))
    (read,), _ = keep_seen([whole], [(slice(None),)])
    return read


def read_context(ids: Sequence[int]) -> Reading:
    """A text that is context only: none of its tokens belongs to a unit."""
    return Reading(ids, (), (NO_UNIT,) * len(ids))


def keep_seen(texts: Sequence[Reading], cuts: Sequence[Cut]) -> tuple[list[Reading], list[Unit]]:
    """The units that have a token in some row, numbered through the texts, and the texts with these numbers."""
    seen: list[Unit] = []
    numbered = []
    for field, text in enumerate(texts):
        places = sorted({place for cut in cuts for place in text.places[cut[field]]} - {NO_UNIT})
        number = {place: len(seen) + index for index, place in enumerate(places)}
        units = [text.units[place] for place in places]
        numbered.append(Reading(text.ids, units, [number.get(place, NO_UNIT) for place in text.places]))
        seen += units
    return numbered, seen


def _places(pieces: Sequence[Span], offsets: Sequence[Span], spans: Sequence[Span]) -> list[int]:
    """The span each token lies in. A token between spans (a lone word mark) goes with the word after it."""
    starts = [start for start, _ in spans]
    last = len(spans) - 1  # which is NO_UNIT where there are no spans
    places = []
    for (start, end), (first, _) in zip(pieces, offsets, strict=True):
        at = start if start < end else first  # what shows nothing stays where it is
        index = bisect_right(starts, at) - 1
        is_inside = index >= 0 and at < spans[index][1]
        places.append(index if is_inside else min(index + 1, last))
    return places
