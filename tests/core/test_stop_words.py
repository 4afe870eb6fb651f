"""Stop words: what holds a sentence together, in any case, and what is left of contractions that were cut."""

from veridical.core.stop_words import is_stop_word
from veridical.core.values import IMAGE, TEXT, Unit


def stops(*words):
    return [is_stop_word(Unit(TEXT, (0, len(word)), word)) for word in words]


def test_stop_words_and_punctuation_say_nothing():
    assert stops("The", "film", "isn’t", "GOOD", "...", "7") == [True, False, True, False, True, False]


def test_the_ends_of_contractions_say_nothing():
    assert stops("n't", "s", "re", "'") == [True] * 4


def test_patches_are_no_stop_words():
    assert not is_stop_word(Unit(IMAGE, (0, 0, 2, 2), "---"))
