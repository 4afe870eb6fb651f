from veridical.data.chance import Chance
from veridical.metrics.attacking.lists import Short
from veridical.metrics.attacking.names import other_names

WOMEN, MEN = map(set, Short().first_names())
LAST = set(Short().last_names()[0])


def replaced(text, person):
    start = text.index(person)
    found = other_names(text, (start, start + len(person)), Short(), Chance(0), 100)
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
