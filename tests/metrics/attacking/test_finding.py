import pytest

from veridical.core.errors import UsageError
from veridical.core.example import PAIR, TEXT, Unit
from veridical.data.chance import Chance
from veridical.metrics.attacking.finders import Rules
from veridical.metrics.attacking.finding import EDITS, Means, check_kinds, edits_of
from veridical.metrics.attacking.lists import Short
from veridical.models.words import word_spans

TEXTS = {TEXT: "Tom isn't in Paris on 12 May", PAIR: "Alice is not"}


def units_of(inputs):
    return [Unit(field, span, text[slice(*span)]) for field, text in inputs.items() for span in word_spans(text)]


def changed(kinds, units=None, inputs=TEXTS, replacements=1):
    means = Means(Rules(), Short(), Chance(0), replacements)
    edits = edits_of(inputs, units_of(inputs) if units is None else units, kinds, means)
    return [(edit.field, inputs[edit.field][slice(*edit.span)]) for edit in edits]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("contractions", [(TEXT, "isn't"), (PAIR, "is not")]),
        ("names", [(TEXT, "Tom"), (PAIR, "Alice")]),
        ("numbers", [(TEXT, "12")]),
        ("locations", [(TEXT, "Paris")]),
    ],
)
def test_each_kind_finds_its_own(kind, expected):
    assert changed([kind]) == expected


def test_all_kinds_come_in_the_order_of_the_text():
    words = ["Tom", "Tom", "isn't", "Paris", "Paris", "12", "12", "Alice", "Alice", "is not"]
    assert [word for _, word in changed(list(EDITS), replacements=2)] == words


def test_the_order_of_kinds_does_not_matter():
    means = [Means(Rules(), Short(), Chance(0), 3) for _ in range(2)]
    units = units_of(TEXTS)
    assert edits_of(TEXTS, units, list(EDITS), means[0]) == edits_of(TEXTS, units, list(EDITS)[::-1], means[1])


def test_words_that_are_no_units_stay():
    assert changed(list(EDITS), units=units_of({PAIR: TEXTS[PAIR]})) == [(PAIR, "Alice"), (PAIR, "is not")]
    assert changed(list(EDITS), units=units_of(TEXTS)[:2]) == [(TEXT, "Tom"), (TEXT, "isn't")]
    assert changed(list(EDITS), units=[]) == []


def test_an_edit_knows_the_words_it_modifies():
    means = Means(Rules(), Short(), Chance(0), 1)
    inputs = {TEXT: "In New York we'd not"}
    edits = edits_of(inputs, units_of(inputs), ["locations", "contractions"], means)
    assert [[inputs[TEXT][slice(*word)] for word in edit.words] for edit in edits] == [["New", "York"], ["we'd"]]


def test_an_unknown_kind_is_named():
    check_kinds(list(EDITS))
    with pytest.raises(UsageError, match="unknown edit 'name'. Did you mean 'names'?"):
        check_kinds(["numbers", "name"])
