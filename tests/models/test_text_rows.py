"""Words are the same for every tokenizer, whatever pieces it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch

from veridical.core.values import Example, Unit
from veridical.models.text_classifier import TextClassifier
from veridical.models.text_rows import is_blank, merge_overlaps, read_units, trim, word_spans
from veridical.testing.families import DECODERS, FAMILIES

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


Make = Callable[..., TextClassifier]

PIECES = {"albert", "deberta-v2", "xlm-roberta"}  # tokenizers of the SentencePiece kind

TRICKY = {
    "  leading space": ["leading", "space"],
    "two  spaces": ["two", "spaces"],
    "a\nnew\tline\r\n": ["a", "new", "line"],
    "I don't": ["I", "don't"],
    "so... what?!": ["so", "...", "what", "?!"],
    "a — dash-like thing": ["a", "—", "dash", "-", "like", "thing"],
    "ok 👍🏽 fine": ["ok", "👍🏽", "fine"],
    "my 👩‍👩‍👧‍👦 !": ["my", "👩‍👩‍👧‍👦", "!"],
    "cafe\u0301 re\u0301sume\u0301": ["cafe\u0301", "re\u0301sume\u0301"],
    "हिन्दी में": ["हिन्दी", "में"],
    "مرحبا بالعالم": ["مرحبا", "بالعالم"],
    "می\u200cخواهم a\u200bb": ["می\u200cخواهم", "a", "b"],
    "क्\u200dष ok": ["क्\u200dष", "ok"],
    "x" * 200 + " end": ["x" * 200, "end"],
    '"Hello," he said': ['"', "Hello", ',"', "he", "said"],
    "...and then": ["...", "and", "then"],
    "ﬁne ½ Ⅷ": ["ﬁne", "½", "Ⅷ"],
    "\ufeffbom \u00a0wide": ["bom", "wide"],
    "": [],
}


def texts_of_units(classifier: TextClassifier, text: str) -> list[str]:
    return [unit.text for unit in classifier.encode([Example.of(text)]).units[0]]


@pytest.mark.parametrize("text", TRICKY, ids=lambda text: ascii(text[:20]))
def test_words_match(make: Make, any_name: str, text: str) -> None:
    classifier = make(any_name, long="window")
    assert texts_of_units(classifier, text) == TRICKY[text]


@pytest.mark.parametrize("text", TRICKY, ids=lambda text: ascii(text[:20]))
@pytest.mark.parametrize("units", ["word", "token"])
def test_each_token_has_a_unit_and_each_unit_its_own_characters(
    make: Make, any_name: str, text: str, units: str
) -> None:
    classifier = make(any_name, long="window", units=units)
    batch = classifier.encode([Example.of(text)])
    (found,) = batch.units
    assert all(unit.text == text[slice(*unit.span)] and unit.field == "text" for unit in found)
    assert all(not is_blank(unit.text[0]) and not is_blank(unit.text[-1]) for unit in found)
    assert all(left.span[1] <= right.span[0] for left, right in pairwise(found))
    ids, places = batch.rows.inputs["input_ids"], batch.rows.unit_of
    special = torch.tensor(classifier.tokenizer.all_special_ids)
    unknown = classifier.tokenizer.unk_token_id
    content = ~torch.isin(ids, special) | (ids == (-1 if unknown is None else unknown))
    assert ((places >= 0) == content).all()
    assert set(places[content].tolist()) == set(range(len(found)))
    assert (places[content].diff() >= 0).all()  # in reading order


@pytest.mark.parametrize("name", sorted(set(FAMILIES + DECODERS) - PIECES))
def test_scripts_without_spaces_and_hyphens(make: Make, name: str) -> None:
    assert texts_of_units(make(name), "我爱你。 well-known $5") == [*"我爱你。", "well", "-", "known", "$", "5"]


@pytest.mark.parametrize("name", sorted(PIECES))
def test_a_token_over_several_words_joins_them(make: Make, name: str) -> None:
    assert texts_of_units(make(name), "我爱你。 end") == ["我爱你。", "end"]  # one unknown token


def test_a_blank_text_has_no_units(make: Make, any_name: str) -> None:
    batch = make(any_name).encode([Example.of(" \n "), Example.of("a")])
    assert [len(units) for units in batch.units] == [0, 1]
    assert torch.isfinite(make(any_name).run(batch.rows).logits).all()


def test_a_lone_word_mark_goes_with_the_word_after_it() -> None:
    offsets = [(0, 1), (2, 2), (2, 5)]  # RoBERTa's trimmed offsets
    assert read_units("text", "a bcd", [7, 8, 9], offsets, "word").places == [0, 1, 1]
    offsets = [(0, 1), (1, 2), (2, 5), (5, 6)]  # offsets that count the space; nothing comes after the last one
    assert read_units("text", "a bcd ", [7, 8, 9, 8], offsets, "word").places == [0, 1, 1, 1]


def test_words_that_the_tokenizer_throws_away_are_no_units() -> None:
    read = read_units("text", "a ☃ b", [5, 6], [(0, 1), (4, 5)], "word")
    assert read.units == [Unit("text", (0, 1), "a"), Unit("text", (4, 5), "b")]
    assert read.places == [0, 1]


def test_pieces_are_units_of_their_own(make: Make, any_name: str) -> None:
    words = make(any_name).encode([Example.of("gorgeous movie")])
    pieces = make(any_name, units="token").encode([Example.of("gorgeous movie")])
    assert len(words.units[0]) == 2 < len(pieces.units[0])
    assert "".join(unit.text for unit in pieces.units[0]) == "gorgeousmovie"
    assert torch.equal(words.rows.inputs["input_ids"], pieces.rows.inputs["input_ids"])
