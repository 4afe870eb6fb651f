import pytest

from veridical.core.errors import UsageError
from veridical.core.example import TEXT, Unit
from veridical.metrics.tagging import TAGGERS, TAGS, Spacy, tags
from veridical.models.words import word_spans

pytest.importorskip("spacy")

TEXT_OF_MANY_KINDS = "Don't miss this well-made film, Alice!"


def units_of(text):
    return [Unit(TEXT, span, text[slice(*span)]) for span in word_spans(text)]


def test_words_get_the_tag_of_the_characters_they_share():
    found = tags(TAGGERS.create("spacy"), TEXT_OF_MANY_KINDS, units_of(TEXT_OF_MANY_KINDS))
    expected = ["AUX", "VERB", "DET", "ADV", "PUNCT", "VERB", "NOUN", "PUNCT", "PROPN", "PUNCT"]
    assert found == expected
    assert set(found) <= set(TAGS)


def test_a_unit_that_the_tagger_does_not_know_is_something_else():
    class Silent:
        def __call__(self, text):
            return ()

    class Spaces:
        def __call__(self, text):
            return ((0, len(text), "SPACE"),)

    assert tags(Silent(), "a b", units_of("a b")) == ["X", "X"]
    assert tags(Spaces(), "a b", units_of("a b")) == ["X", "X"]


def test_parts_of_words_get_the_tag_of_the_word():
    pieces = [Unit(TEXT, (0, 3), "mov"), Unit(TEXT, (3, 6), "ies"), Unit(TEXT, (7, 11), "rock")]
    found = tags(Spacy(), "movies rock", pieces)
    assert found[0] == found[1] == "NOUN"


def test_a_missing_tagger_says_what_to_install():
    with pytest.raises(UsageError, match=r'cannot be loaded: .*Run: pip install "veridical\[pos\]"'):
        Spacy(model="no_such_tagger")("a text")
