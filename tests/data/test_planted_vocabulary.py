import pytest

from veridical.data.planted import FILLERS, LEVELS, MOST_TOPICS, TOPICS, fillers, pseudo_word, topic


@pytest.mark.parametrize("difficulty", LEVELS)
def test_no_word_has_two_meanings(difficulty: str) -> None:
    words = [*fillers(difficulty), *(word for number in range(MOST_TOPICS) for word in topic(number, difficulty))]
    assert len(words) == len(set(words)) == LEVELS[difficulty][1] + MOST_TOPICS * LEVELS[difficulty][0]
    assert "not" not in words
    assert all(word.isalpha() and word.islower() for word in words)


def test_made_up_words_are_no_real_ones() -> None:
    made = {pseudo_word(number) for number in range(24**3)}
    assert len(made) == 24**3
    assert made.isdisjoint(FILLERS)
    assert made.isdisjoint(word for words in TOPICS for word in words)
