import pytest

from veridical.core.errors import UsageError
from veridical.metrics.attacking.finders import FINDERS, Entity, Rules, Spacy, entities


def found(finder, text):
    return [(text[slice(*entity.span)], entity.kind) for entity in finder(text)]


def test_rules_find_persons_and_places():
    text = "Tom Hanks and Mrs. Robinson met Alice in New York and Paris."
    assert found(Rules(), text) == [
        ("Tom Hanks", "person"),
        ("Robinson", "person"),
        ("Alice", "person"),
        ("New York", "place"),
        ("Paris", "place"),
    ]


def test_rules_leave_other_words_alone():
    assert found(Rules(), "The Best Film, tomorrow and comparison; a Romeo of chinaware. Marymount") == []


def test_what_rules_find_does_not_overlap():
    assert found(Rules(), "Maria Rome, Dr. Paris, Mary South Africa") == [
        ("Maria", "person"),
        ("Rome", "place"),
        ("Paris", "place"),
        ("Mary", "person"),
        ("South Africa", "place"),
    ]


def test_an_empty_text_names_nobody():
    assert entities(Rules(), "  ") == ()


def test_spacy_finds_persons_and_places():
    pytest.importorskip("spacy")
    text = "Alice Walker flew from Paris to New York with 3 friends of Microsoft."
    assert found(Spacy(), text) == [("Alice Walker", "person"), ("Paris", "place"), ("New York", "place")]


def test_spacy_is_asked_how_sure_it_is():
    pytest.importorskip("spacy")
    text = "I think Tom Hanks is great in this movie, but Vertigo by Hitchcock was better."
    sure, unsure = found(Spacy(), text), found(Spacy(confidence=0.2), text)
    assert sure == [("Tom Hanks", "person")]
    assert ("Hitchcock", "person") in unsure
    assert set(sure) < set(unsure)


def test_a_missing_finder_says_what_to_install():
    with pytest.raises(UsageError, match=r'cannot be loaded: .*Run: pip install "veridical\[attack\]"'):
        Spacy(model="no_such_finder")("a text")


def test_finders_are_hashable_values():
    assert FINDERS.create("spacy(confidence=0.9)") == Spacy(confidence=0.9)
    assert hash(Rules()) == hash(Rules())
    assert Rules()("Tom") == (Entity("person", (0, 3)),)
