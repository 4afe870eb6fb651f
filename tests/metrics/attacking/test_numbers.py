import re

import pytest

from veridical.data.chance import Chance
from veridical.metrics.attacking.numbers import numbers


def others(text, count=3, key=0):
    return [(text[slice(*span)], new) for span, new in numbers(text, Chance(key), count)]


@pytest.mark.parametrize("value", ["0", "2", "4", "2.0", "4.00", "0.0"])
def test_nothing_two_and_four_are_left_alone(value):
    assert others(f"it has {value} of them") == []


@pytest.mark.parametrize(
    ("number", "form"),
    [("1,000", r"\d{1,3}|\d,\d{3}"), ("3.5", r"\d\.\d"), ("007", r"\d{3}"), ("1990", r"\d{1,4}"), ("0.25", r"0\.\d\d")],
)
def test_the_format_is_kept(number, form):
    found = others(number, count=50)
    assert {old for old, _ in found} == {number}
    assert all(re.fullmatch(form, new) for _, new in found)


def test_others_are_different_and_at_most_twice_as_much():
    found = [int(new) for _, new in others("50", count=30)]
    assert len(set(found)) == 30
    assert 50 not in found
    assert min(found) >= 0
    assert max(found) <= 100


def test_every_value_in_reach_is_drawn():
    assert {new for _, new in others("3", count=100)} == {"0", "1", "2", "4", "5", "6"}


def test_a_small_number_has_fewer_others():
    assert {new for _, new in others("1", count=3)} == {"0", "2"}


def test_numbers_beside_signs_are_found():
    assert [old for old, _ in others("7/10 for $5, -8 or 90%.", count=1)] == ["7", "10", "5", "8", "90"]


def test_what_is_no_number_is_left_alone():
    assert others("8th 1990s x3 1.2.3 12,34 12345678901234567890 ３") == []


def test_chance_is_the_callers():
    assert others("1000 and 500", key=1) == others("1000 and 500", key=1)
    assert others("1000 and 500", key=1) != others("1000 and 500", key=2)
