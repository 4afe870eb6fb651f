import sys

import pytest

from veridical.core.errors import UsageError
from veridical.data.dataset import Chance
from veridical.metrics.attack_lists import LISTS, FakerLists, ShortLists, _faker, like, others

GROUPS = (("Ann", "Eve", "Kim"), ("Bob", "Kim", "Tom"))


def test_a_name_is_replaced_by_others_of_its_group():
    assert set(others("Ann", GROUPS, Chance(0), 5)) == {"Eve", "Kim"}
    assert set(others("Tom", GROUPS, Chance(0), 5)) == {"Bob", "Kim"}


def test_a_name_of_two_groups_and_one_of_none_have_all():
    assert set(others("Kim", GROUPS, Chance(0), 9)) == {"Ann", "Bob", "Eve", "Tom"}
    assert set(others("Zoe", GROUPS, Chance(0), 9)) == {"Ann", "Bob", "Eve", "Kim", "Tom"}


def test_case_is_kept():
    assert set(others("tom", GROUPS, Chance(0), 9)) == {"bob", "kim"}
    assert set(others("TOM", GROUPS, Chance(0), 9)) == {"BOB", "KIM"}


def test_no_more_than_asked_for_and_by_chance():
    drawn = {tuple(others("Zoe", GROUPS, Chance(key), 2)) for key in range(30)}
    assert {len(each) for each in drawn} == {2}
    assert len(drawn) > 5
    assert others("Zoe", GROUPS, Chance(3), 2) == others("Zoe", GROUPS, Chance(3), 2)


@pytest.mark.parametrize("name", list(LISTS))
def test_lists_have_plain_names(name):
    if name == "library":
        pytest.importorskip("faker")
    lists = LISTS.create(name)
    women, men = lists.first_names()
    cities, countries = lists.places()
    assert {"Mary", "Laura"} <= set(women)
    assert {"John", "Michael"} <= set(men)
    assert {"Smith", "Johnson"} <= set(lists.last_names()[0])
    assert {"Paris", "Chicago"} <= set(cities)
    assert {"France", "Japan"} <= set(countries)
    known = [*women, *men, *lists.last_names()[0], *cities, *countries]
    assert all(each.isascii() and each[0].isupper() for each in known)


def test_the_library_has_more():
    pytest.importorskip("faker")
    assert len(FakerLists().last_names()[0]) > 10 * len(ShortLists().last_names()[0])


def test_unknown_lists_are_named():
    with pytest.raises(UsageError, match="unknown list of names 'shrt'. Did you mean 'short'?"):
        LISTS.create("shrt")


def test_without_the_library_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faker.providers.date_time", None)
    _faker.cache_clear()
    try:
        with pytest.raises(UsageError, match=r'need the library Faker. Run: pip install "veridical\[attack\]", or use'):
            FakerLists().last_names()
    finally:
        _faker.cache_clear()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("tom", "Ann", "ann"),
        ("TOM", "Ann", "ANN"),
        ("Tom", "ann", "Ann"),
        ("I", "you", "You"),  # one capital is no shouting
        ("isn't", "is not", "is not"),
        ("Isn't", "is not", "Is not"),
    ],
)
def test_a_replacement_is_written_like_the_word_it_replaces(old, new, expected):
    assert like(old, new) == expected
