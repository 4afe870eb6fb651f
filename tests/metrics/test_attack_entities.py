import pytest

from veridical.core.errors import UsageError
from veridical.core.values import PAIR, TEXT, Unit
from veridical.data.dataset import Chance
from veridical.metrics.attack_entities import (
    EDITS,
    FINDERS,
    EditTools,
    Entity,
    RuleFinder,
    SpacyFinder,
    edits_of,
    entities,
)
from veridical.metrics.attack_lists import ShortLists
from veridical.models.text_rows import word_spans


def found(finder, text):
    return [(text[slice(*entity.span)], entity.kind) for entity in finder(text)]


def test_rules_find_persons_and_places():
    text = "Tom Hanks and Mrs. Robinson met Alice in New York and Paris."
    assert found(RuleFinder(), text) == [
        ("Tom Hanks", "person"),
        ("Robinson", "person"),
        ("Alice", "person"),
        ("New York", "place"),
        ("Paris", "place"),
    ]


def test_rules_leave_other_words_alone():
    assert found(RuleFinder(), "The Best Film, tomorrow and comparison; a Romeo of chinaware. Marymount") == []


def test_what_rules_find_does_not_overlap():
    assert found(RuleFinder(), "Maria Rome, Dr. Paris, Mary South Africa") == [
        ("Maria", "person"),
        ("Rome", "place"),
        ("Paris", "place"),
        ("Mary", "person"),
        ("South Africa", "place"),
    ]


def test_an_empty_text_names_nobody():
    assert entities(RuleFinder(), "  ") == ()


def test_spacy_finds_persons_and_places():
    pytest.importorskip("spacy")
    text = "Alice Walker flew from Paris to New York with 3 friends of Microsoft."
    assert found(SpacyFinder(), text) == [("Alice Walker", "person"), ("Paris", "place"), ("New York", "place")]


def test_spacy_is_asked_how_sure_it_is():
    pytest.importorskip("spacy")
    text = "I think Tom Hanks is great in this movie, but Vertigo by Hitchcock was better."
    sure, unsure = found(SpacyFinder(), text), found(SpacyFinder(confidence=0.2), text)
    assert sure == [("Tom Hanks", "person")]
    assert ("Hitchcock", "person") in unsure
    assert set(sure) < set(unsure)


def test_a_missing_finder_says_what_to_install():
    with pytest.raises(UsageError, match=r'cannot be loaded: .*Run: pip install "veridical\[attack\]"'):
        SpacyFinder(model="no_such_finder")("a text")


def test_finders_are_hashable_values():
    assert FINDERS.create("spacy(confidence=0.9)") == SpacyFinder(confidence=0.9)
    assert hash(RuleFinder()) == hash(RuleFinder())
    assert RuleFinder()("Tom") == (Entity("person", (0, 3)),)


TEXTS = {TEXT: "Tom isn't in Paris on 12 May", PAIR: "Alice is not"}


def units_of(inputs):
    return [Unit(field, span, text[slice(*span)]) for field, text in inputs.items() for span in word_spans(text)]


def changed(kinds, units=None, inputs=TEXTS, replacements=1):
    tools = EditTools(RuleFinder(), ShortLists(), Chance(0), replacements)
    edits = edits_of(inputs, units_of(inputs) if units is None else units, kinds, tools)
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
    tools = [EditTools(RuleFinder(), ShortLists(), Chance(0), 3) for _ in range(2)]
    units = units_of(TEXTS)
    assert edits_of(TEXTS, units, list(EDITS), tools[0]) == edits_of(TEXTS, units, list(EDITS)[::-1], tools[1])


def test_words_that_are_no_units_stay():
    assert changed(list(EDITS), units=units_of({PAIR: TEXTS[PAIR]})) == [(PAIR, "Alice"), (PAIR, "is not")]
    assert changed(list(EDITS), units=units_of(TEXTS)[:2]) == [(TEXT, "Tom"), (TEXT, "isn't")]
    assert changed(list(EDITS), units=[]) == []


def test_an_edit_knows_the_words_it_modifies():
    tools = EditTools(RuleFinder(), ShortLists(), Chance(0), 1)
    inputs = {TEXT: "In New York we'd not"}
    edits = edits_of(inputs, units_of(inputs), ["locations", "contractions"], tools)
    assert [[inputs[TEXT][slice(*word)] for word in edit.words] for edit in edits] == [["New", "York"], ["we'd"]]
