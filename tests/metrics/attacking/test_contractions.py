import pytest

from veridical.metrics.attacking.contractions import contractions


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
