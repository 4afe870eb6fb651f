"""Words by character offsets, the same for every tokenizer: what people call words, and runs of punctuation."""

from __future__ import annotations

import regex

Span = tuple[int, int]

# Scripts without spaces: each character is a word of its own (a tokenizer's longer pieces join them again).
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*"
_LETTERS = rf"(?:(?!{_UNSPACED})[\w\p{{M}}])+"
_WORD = regex.compile(rf"{_UNSPACED}|{_LETTERS}(?:['’]{_LETTERS})*|\p{{P}}+|\X")


def word_spans(text: str) -> list[Span]:
    """Where the words of a text begin and end; white space belongs to none.

    >>> [text[a:b] for a, b in word_spans(text := "Don't miss it...")]
    ["Don't", 'miss', 'it', '...']
    """
    return [found.span() for found in _WORD.finditer(text) if not found.group().isspace()]


def trim(text: str, span: Span) -> Span:
    """The span without white space at its ends; some tokenizers count the space before a word as part of it."""
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def merge_overlaps(spans: list[Span]) -> list[Span]:
    """Spans in order with overlapping ones joined, so that each character belongs to at most one."""
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
