"""From texts to the rows that a model reads: fields that are checked, units of words or pieces, special tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from unicodedata import category

import regex
from transformers import PreTrainedTokenizerBase

from veridical.core.errors import InputError, ModelError, UsageError
from veridical.core.values import PAIR, TEXT, Example, Unit

FIELDS = (TEXT, PAIR)


def texts_of(example: Example) -> tuple[str, str]:
    """The text and the second text of an example, the latter empty where there is none."""
    return str(example.inputs[TEXT]), str(example.inputs.get(PAIR, ""))


def check_hold(hold: str | None) -> None:
    """Only a field of texts can be held as context."""
    if hold is not None and hold not in FIELDS:
        raise UsageError(f"hold cannot be {hold!r}", remedy=f"It is one of: {', '.join(FIELDS)}.")


def check_texts(examples: Sequence[Example]) -> None:
    """Raise an error that names the first example a text classifier cannot read."""
    if not examples:
        raise UsageError("there are no examples to read")
    for example in examples:
        problem = text_problem(example)
        if problem is not None:
            raise problem
    if len({PAIR in example.inputs for example in examples}) > 1:
        odd = next(example for example in examples if (PAIR in example.inputs) != (PAIR in examples[0].inputs))
        raise InputError("pairs and single texts are mixed in one batch", example=odd.id, field=PAIR)


def text_problem(example: Example) -> InputError | None:
    """What is wrong with an example's texts, if anything."""
    if TEXT not in example.inputs:
        there = ", ".join(example.inputs) or "nothing"
        return InputError(f"there is no text, only: {there}", example=example.id, field=TEXT)
    for field in FIELDS:
        value = example.inputs.get(field, "")
        if not isinstance(value, str):
            return InputError(f"expected a text, not {type(value).__name__}", example=example.id, field=field)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            return InputError(
                f"character {error.start + 1} is half of a surrogate pair (U+{ord(value[error.start]):04X})",
                example=example.id,
                field=field,
                remedy="The text was cut or decoded wrongly; read its source as UTF-8 again.",
            )
    return None


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


@dataclass(frozen=True)
class TokenRow:
    """What a model reads at once: token ids, their types, and the unit at each position."""

    ids: list[int]
    types: list[int]
    places: list[int]


@dataclass(frozen=True)
class Frame:
    """The special tokens before, between and after the texts of an input, and the token type of everything.

    `marks` has one more group of special tokens than there are texts.
    """

    marks: tuple[tuple[int, ...], ...]
    mark_types: tuple[tuple[int, ...], ...]
    text_types: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of special tokens."""
        return sum(len(group) for group in self.marks)

    def fill(self, texts: Sequence[Reading]) -> TokenRow:
        """The row of some texts; special tokens have no unit."""
        nowhere = [(NO_UNIT,) * len(group) for group in self.marks]
        types = [(kind,) * len(text.ids) for kind, text in zip(self.text_types, texts, strict=True)]
        return TokenRow(
            _between(self.marks, [text.ids for text in texts]),
            _between(self.mark_types, types),
            _between(nowhere, [text.places for text in texts]),
        )


def frame_of(tokenizer: PreTrainedTokenizerBase, count: int) -> Frame:
    """How a tokenizer frames one text or two, found by showing it some."""
    encoding: Any = tokenizer(*["a"] * count, return_token_type_ids=True)
    fields = encoding.sequence_ids(0)  # None at special tokens
    starts = [position for position, field in enumerate(fields) if field is not None and field not in fields[:position]]
    if [fields[start] for start in starts] != list(range(count)):
        raise ModelError(f"{type(tokenizer).__name__} does not put {count} texts one after the other")

    groups = [
        [
            position
            for position, field in enumerate(fields)
            if field is None and bisect_right(starts, position) == before
        ]
        for before in range(count + 1)
    ]

    def marks(values: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(values[position] for position in group) for group in groups)

    types = encoding["token_type_ids"]
    return Frame(marks(encoding["input_ids"]), marks(types), tuple(types[start] for start in starts))


def truncate(lengths: Sequence[int], room: int, side: str = "right") -> Cut:
    """Cut texts to fit: of a pair the longer one first, then both to half the room."""
    kept = [min(lengths[0], room)] if len(lengths) == 1 else _halves(lengths[0], lengths[1], room)
    if side == "right":
        return tuple(slice(0, size) for size in kept)
    return tuple(slice(length - size, length) for length, size in zip(lengths, kept, strict=True))


def windows(lengths: Sequence[int], room: int) -> list[Cut]:
    """Consecutive pieces of the first text, each with all of the others beside it."""
    first, *others = lengths
    step = room - sum(others)
    whole = tuple(slice(0, length) for length in others)
    return [(slice(start, min(start + step, first)), *whole) for start in range(0, max(first, 1), step)]


def _halves(first: int, second: int, room: int) -> list[int]:
    if first + second <= room:
        return [first, second]
    shorter = min(first, second)
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return [shorter, longer] if first <= second else [longer, shorter]


def _between(marks: Sequence[Sequence[int]], texts: Sequence[Sequence[int]]) -> list[int]:
    row = list(marks[0])
    for text, after in zip(texts, marks[1:], strict=True):
        row += [*text, *after]
    return row
