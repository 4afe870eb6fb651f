"""From whole texts to rows: which tokens go into which row, and the special tokens around them.

Tokenizers can cut texts themselves, but build every combination of the leftovers of a pair (gigabytes for two long
documents) and do not say what was lost. So texts are tokenized whole and cut here, by the same rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedTokenizerBase

from veridical.core.errors import ModelError
from veridical.models.units import NO_UNIT, Cut, Reading


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
