import re

import pytest

from veridical.data.dataset import Chance
from veridical.metrics.attack_edits import Edit, contractions, like, numbers, other_names, rewrite, words_of
from veridical.metrics.attack_lists import ShortLists


def edit(field, start, end, text):
    return Edit(field, (start, end), text, ((start, end),))


def test_edits_are_made_where_they_were_found():
    inputs = {"text": "Tom saw 10 men", "text_pair": "Tom did"}
    edits = [edit("text", 8, 10, "1,000"), edit("text", 0, 3, "Al"), edit("text_pair", 0, 3, "Bartholomew")]
    assert rewrite(inputs, edits) == {"text": "Al saw 1,000 men", "text_pair": "Bartholomew did"}
    assert rewrite(inputs, []) == inputs


def test_words_are_not_punctuation():
    text = "Don't stop - it's 10/10!"
    assert [text[slice(*span)] for span in words_of(text)] == ["Don't", "stop", "it's", "10", "10"]


def test_case():
    assert [like(old, "McCoy") for old in ("tom", "TOM", "Tom", "T")] == ["mccoy", "MCCOY", "McCoy", "McCoy"]


def test_the_same_place_in_another_text_is_another_word():
    assert not edit("text", 0, 3, "").touched & edit("text_pair", 0, 3, "").touched


def written(text):
    return [(text[slice(*span)], new) for span, new in contractions(text)]


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("do not", "don't"),
        ("cannot", "can't"),
        ("will not", "won't"),
        ("shall not", "shan't"),
        ("I am", "I'm"),
        ("we have", "we've"),
        ("they would", "they'd"),
        ("she will", "she'll"),
        ("Let us", "Let's"),
        ("What is", "What's"),
    ],
)
def test_both_directions(long, short):
    assert written(f"{long} go") == [(long, short)]
    assert written(f"{short} go") == [(short, long)]


def test_case_is_kept():
    assert written("Don't don't DON'T") == [("Don't", "Do not"), ("don't", "do not"), ("DON'T", "DO NOT")]
    assert written("It is one. IT IS ONE. it is one") == [("It is", "It's"), ("IT IS", "IT'S"), ("it is", "it's")]


def test_two_words_that_can_be_one():
    assert written("you can not go") == [("can not", "can't")]


def test_words_may_have_two_ways():
    assert written("you would not go") == [("you would", "you'd"), ("would not", "wouldn't")]


def test_a_verb_is_not_contracted_where_nothing_follows():
    assert written("Yes, it is. Better than we are, I will.") == []
    assert written("No, it is not.") == [("it is", "it's"), ("is not", "isn't")]


def test_parts_of_words_are_left_alone():
    assert written("this notice: Hawaii am, Thebes will nothing, undo nothing") == []
    assert written("the donot'don't'ts") == []


def test_the_apostrophe_of_the_text_is_used():
    assert written("I’m sure it is fine") == [("I’m", "I am"), ("it is", "it’s")]
    assert written("isn’t") == [("isn’t", "is not")]


def test_words_over_a_line_end():
    assert written("they are\nnot and do\n  not") == [
        ("they are", "they're"),
        ("are\nnot", "aren't"),
        ("do\n  not", "don't"),
    ]


def test_letters_that_only_look_alike_are_other_words():
    assert written("it iſ not, İt is fine") == []


WOMEN, MEN = map(set, ShortLists().first_names())
LAST = set(ShortLists().last_names()[0])


def replaced(text, person):
    start = text.index(person)
    found = other_names(text, (start, start + len(person)), ShortLists(), Chance(0), 100)
    by_word: dict[str, set[str]] = {}
    for span, new in found:
        by_word.setdefault(text[slice(*span)], set()).add(new)
    return by_word


def test_first_and_last_names_have_their_own_lists():
    assert replaced("with Tom Smith in it", "Tom Smith") == {"Tom": MEN - {"Tom"}, "Smith": LAST - {"Smith"}}


def test_names_between_stay():
    assert set(replaced("by Mary Jane B. Kelly", "Mary Jane B. Kelly")) == {"Mary", "Kelly"}


def test_one_name_alone_is_a_last_name_only_if_it_cannot_be_a_first_name():
    assert replaced("Smith", "Smith") == {"Smith": LAST - {"Smith"}}
    assert replaced("Alice", "Alice") == {"Alice": WOMEN - {"Alice"}}
    assert replaced("Bilbo", "Bilbo") == {"Bilbo": WOMEN | MEN}


def test_initials_and_endings_are_no_names():
    assert set(replaced("J. Parker's film", "J. Parker")) == {"Parker"}
    assert replaced("a J.", "J.") == {}


def others(text, count=3, key=0):
    return [(text[slice(*span)], new) for span, new in numbers(text, Chance(key), count)]


@pytest.mark.parametrize("value", ["0", "2", "4", "2.0", "4.00", "0.0"])
def test_nothing_two_and_four_are_left_alone(value):
    assert others(f"it has {value} of them") == []


@pytest.mark.parametrize(
    ("number", "form"),
    [("1,000", r"\d{1,3}|\d,\d{3}"), ("3.5", r"\d\.\d"), ("007", r"\d{3}"), ("1990", r"\d{1,4}"), ("0.25", r"0\.\d\d")],
)
def test_the_format_is_kept(number, form):
    found = others(number, count=50)
    assert {old for old, _ in found} == {number}
    assert all(re.fullmatch(form, new) for _, new in found)


def test_others_are_different_and_at_most_twice_as_much():
    found = [int(new) for _, new in others("50", count=30)]
    assert len(set(found)) == 30
    assert 50 not in found
    assert min(found) >= 0
    assert max(found) <= 100


def test_every_value_in_reach_is_drawn():
    assert {new for _, new in others("3", count=100)} == {"0", "1", "2", "4", "5", "6"}


def test_a_small_number_has_fewer_others():
    assert {new for _, new in others("1", count=3)} == {"0", "2"}


def test_numbers_beside_signs_are_found():
    assert [old for old, _ in others("7/10 for $5, -8 or 90%.", count=1)] == ["7", "10", "5", "8", "90"]


def test_what_is_no_number_is_left_alone():
    assert others("8th 1990s x3 1.2.3 12,34 12345678901234567890 ３") == []


def test_chance_is_the_callers():
    assert others("1000 and 500", key=1) == others("1000 and 500", key=1)
    assert others("1000 and 500", key=1) != others("1000 and 500", key=2)
