"""From tokens to units: which word, or which word piece, each token of a text belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from veridical.core.example import Unit
from veridical.models.words import Span, merge_overlaps, trim, word_spans

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
