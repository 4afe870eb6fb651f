"""Words by character offsets, the same for every tokenizer: what people call words, and runs of punctuation."""

from __future__ import annotations

from unicodedata import category

import regex

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
