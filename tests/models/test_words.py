from __future__ import annotations

import pytest

from veridical.models.words import is_blank, merge_overlaps, trim, word_spans

WORDS = {
    "Don't miss it...": ["Don't", "miss", "it", "..."],
    "rock 'n' roll": ["rock", "'", "n", "'", "roll"],
    "well-known": ["well", "-", "known"],
    "snake_case 1,000": ["snake_case", "1", ",", "000"],
    "$5 + 50%": ["$", "5", "+", "50", "%"],
    "ok 👍🏽👩‍👩‍👧 🇩🇪": ["ok", "👍🏽", "👩‍👩‍👧", "🇩🇪"],
    "cafe\u0301!": ["cafe\u0301", "!"],
    "我爱你。": ["我", "爱", "你", "。"],
    "ภาษา": ["ภ", "า", "ษ", "า"],
    "한국어 텍스트": ["한국어", "텍스트"],
    "हिन्दी में": ["हिन्दी", "में"],
    "مرحبا بالعالم": ["مرحبا", "بالعالم"],
    "می\u200cخواهم": ["می\u200cخواهم"],
    "क्\u200dष": ["क्\u200dष"],
    "hy\u00adphen": ["hy\u00adphen"],
    "a\u200bb \ufeffc\u0000": ["a", "b", "c"],
    " \u0301x": ["\u0301x"],
    "\u00a0\u3000\t\n": [],
    "": [],
}


@pytest.mark.parametrize("text", WORDS, ids=ascii)
def test_words_are_what_people_call_words(text: str) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == WORDS[text]


@pytest.mark.parametrize("text", WORDS, ids=ascii)
def test_only_blanks_stand_between_words(text: str) -> None:
    spans = word_spans(text)
    inside = {at for start, end in spans for at in range(start, end)}
    assert all(is_blank(text[at]) for at in range(len(text)) if at not in inside)
    assert sum(end - start for start, end in spans) == len(inside)  # no character twice


def test_trimming_takes_blanks_off_both_ends() -> None:
    assert trim(" \u200ba b\n", (0, 6)) == (2, 5)
    assert trim("   ", (0, 3)) == (3, 3)


def test_overlapping_spans_become_one() -> None:
    assert merge_overlaps([(4, 6), (0, 2), (1, 3), (3, 3), (3, 4), (0, 1)]) == [(0, 3), (3, 4), (4, 6)]
