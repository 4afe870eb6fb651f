"""From tokens to units: which word, or which word piece, each token of a tokenizer's output belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Literal

from veridical.core.example import PAIR, TEXT, Example, Unit
from veridical.models.words import Span, merge_overlaps, trim, word_spans

UnitKind = Literal["word", "token"]

FIELDS = (TEXT, PAIR)


def assign_units(
    examples: Sequence[Example],
    encoding: Any,
    owner: Sequence[int],
    is_cut: Sequence[bool],
    kind: UnitKind,
    hold: str | None,
) -> tuple[tuple[tuple[Unit, ...], ...], list[list[int]], tuple[int, ...]]:
    """The units of each example, the unit at each position of each row, and how many units each example lost."""
    tokens: list[dict[str, list[tuple[int, int, Span]]]] = [{} for _ in examples]
    for row, whose in enumerate(owner):
        for position, field, span in _tokens(encoding, row):
            tokens[whose].setdefault(field, []).append((row, position, span))
    unit_of = [[-1] * len(ids) for ids in encoding["input_ids"]]
    units, truncated = [], []
    cut_examples = {whose for whose, cut in zip(owner, is_cut, strict=True) if cut}
    for index, (example, fields) in enumerate(zip(examples, tokens, strict=True)):
        found: list[Unit] = []
        lost = 0
        for field in FIELDS:
            if field in example.inputs and field != hold:
                text = str(example.inputs[field])
                spans, beyond = _spans(text, [span for _, _, span in fields.get(field, [])], kind)
                _place(fields.get(field, []), spans, text, len(found), unit_of)
                found += [Unit(field, span, text[slice(*span)]) for span in spans]
                lost += beyond if index in cut_examples else 0
        units.append(tuple(found))
        truncated.append(lost)
    return tuple(units), unit_of, tuple(truncated)


def _tokens(encoding: Any, row: int) -> list[tuple[int, str, Span]]:
    """Position, field and characters of the row's tokens that come from a text; special tokens come from none."""
    sequences = encoding.sequence_ids(row)
    offsets = encoding["offset_mapping"][row]
    return [
        (position, FIELDS[sequence], tuple(offsets[position]))
        for position, sequence in enumerate(sequences)
        if sequence is not None
    ]


def _spans(text: str, seen: list[Span], kind: UnitKind) -> tuple[list[Span], int]:
    """The unit spans of a text that the model sees, and the number of those beyond what it sees.

    A token that reaches over two words joins them: they can only be erased together.
    """
    pieces = [trim(text, span) for span in seen]
    end = max((piece[1] for piece in pieces), default=0)
    words = word_spans(text) if kind == "word" else []
    lost = sum(start >= end for start, _ in (words or word_spans(text)))
    merged = merge_overlaps(pieces + [word for word in words if word[0] < end])
    covered = merge_overlaps(pieces)
    return [span for span in merged if _touches(span, covered)], lost


def _touches(span: Span, covered: list[Span]) -> bool:
    """Whether a token covers any of the span; characters that a tokenizer throws away make no unit."""
    index = bisect_right(covered, (span[0], float("inf"))) - 1
    return any(
        max(span[0], covered[near][0]) < min(span[1], covered[near][1])
        for near in (index, index + 1)
        if 0 <= near < len(covered)
    )


def _place(
    tokens: list[tuple[int, int, Span]], spans: list[Span], text: str, first: int, unit_of: list[list[int]]
) -> None:
    """Write each token's unit. A token of white space only (a lone word mark) goes with the word after it."""
    starts = [start for start, _ in spans]
    for row, position, span in tokens:
        start, end = trim(text, span)
        index = bisect_right(starts, start) - 1
        if start >= end:
            index = bisect_right(starts, span[1] - 1) if span[0] < span[1] else index + 1
            index = min(index, len(spans) - 1)
        if index >= 0:
            unit_of[row][position] = first + index
