from veridical.core.example import IMAGE, TEXT, Unit
from veridical.metrics.filters import is_stop_word, kept

WORDS = ("The", "film", "isn’t", "GOOD", "...", "7")
UNITS = [Unit(TEXT, (at, at + 1), word) for at, word in enumerate(WORDS)]


def test_stop_words_and_punctuation_say_nothing():
    assert [is_stop_word(unit) for unit in UNITS] == [True, False, True, False, True, False]


def test_patches_are_no_stop_words():
    assert not is_stop_word(Unit(IMAGE, (0, 0, 2, 2), "---"))


def test_filters():
    evidence = [Unit(TEXT, (0, 2), "The film")]
    assert kept("all", UNITS, evidence).all()
    assert kept("rationale", UNITS, evidence).tolist() == [True, True, False, False, False, False]
    assert kept("no-stop-words", UNITS, evidence).tolist() == [False, True, False, True, False, True]
