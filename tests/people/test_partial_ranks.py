"""Items share ranks where their intervals overlap, one after another."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.people import partial_ranks


def around(**ratings: tuple[float, float]) -> dict[str, tuple[float, float]]:
    return {item: (mu - 1.96 * sigma, mu + 1.96 * sigma) for item, (mu, sigma) in ratings.items()}


def first(rank: str) -> int:
    return int(rank.partition("-")[0])


def test_the_published_table() -> None:
    found = partial_ranks(around(d=(-2.7, 0.67), b=(0.7, 0.67), c=(-2.1, 0.67), a=(4.3, 0.70)))
    assert found == {"a": "1", "b": "2", "c": "3-4", "d": "3-4"}
    assert list(found) == ["a", "b", "c", "d"]


def test_a_chain_of_overlaps_is_one_rank() -> None:
    """The first and the last do not overlap, but nothing tells either from the one between them."""
    assert partial_ranks({"a": (4, 6), "b": (2, 5), "c": (1, 3)}) == dict.fromkeys("abc", "1-3")


def test_a_wide_interval_joins_all_that_lie_in_it() -> None:
    assert partial_ranks({"a": (0, 9), "b": (7, 8), "c": (1, 2), "d": (-2, -1)}) == {
        **dict.fromkeys("abc", "1-3"),
        "d": "4",
    }


def test_intervals_that_touch_overlap() -> None:
    assert partial_ranks({"a": (1, 2), "b": (0, 1)}) == {"a": "1-2", "b": "1-2"}
    assert partial_ranks({"a": (1, 2), "b": (0, 0.999)}) == {"a": "1", "b": "2"}


def test_without_an_interval_any_rank_is_possible() -> None:
    assert partial_ranks({"a": (1, 2), "b": (math.nan, math.nan), "c": (-2, -1)}) == dict.fromkeys("bac", "1-3")


def test_few_items() -> None:
    assert partial_ranks({}) == {}
    assert partial_ranks({"a": (0, 1)}) == {"a": "1"}


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 4)), min_size=1, max_size=6))
def test_ranks_separate_exactly_what_a_gap_separates(found: list[tuple[int, int]]) -> None:
    intervals = {f"{at}": (low, low + width) for at, (low, width) in enumerate(found)}
    gaps = [at + 0.5 for at in range(-10, 14) if not any(low < at + 0.5 < high for low, high in intervals.values())]
    ranks = partial_ranks(intervals)
    for one, (low, _) in intervals.items():
        for other, (_, high) in intervals.items():
            assert (first(ranks[one]) < first(ranks[other])) == any(high < gap < low for gap in gaps)


@given(st.dictionaries(st.text(), st.tuples(st.floats(-9, 9), st.floats(-9, 9)).map(sorted), max_size=9))
def test_each_rank_is_given_once(found: dict[str, list[float]]) -> None:
    ranks = list(partial_ranks({item: (low, high) for item, (low, high) in found.items()}).values())
    spans = [[int(end) for end in text.split("-")] for text in dict.fromkeys(ranks)]
    given_ranks = [rank for span in spans for rank in range(span[0], span[-1] + 1)]
    assert given_ranks == list(range(1, len(ranks) + 1))


@pytest.mark.parametrize("shift", [-100.0, 0.3])
def test_only_differences_matter(shift: float) -> None:
    intervals = {"a": (4.0, 6.0), "b": (2.0, 4.5), "c": (0.0, 1.0)}
    moved = {item: (low + shift, high + shift) for item, (low, high) in intervals.items()}
    assert partial_ranks(moved) == partial_ranks(intervals)
