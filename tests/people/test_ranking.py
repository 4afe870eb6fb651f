"""Rankings are competition rankings, and what is none is refused with the place and the remedy."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.core.errors import InputError
from veridical.people import Ranking, competition_ranks
from veridical.people.ranking import in_order, items_of


def ranked(*ranks: object, example: str = "17", annotator: str = "ada") -> Ranking:
    return Ranking(example, annotator, dict(zip("abcdefgh", ranks, strict=False)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ranks", [(1,), (1, 2), (1, 1), (2, 1), (1, 1, 3, 4), (1, 2, 2, 4), (4, 2, 2, 1), (1, 1, 1, 1)]
)
def test_competition_rankings_are_valid_in_any_order(ranks: tuple[int, ...]) -> None:
    assert tuple(ranked(*ranks).ranks.values()) == ranks


@pytest.mark.parametrize(
    ("ranks", "meant"),
    [
        ((1, 1, 2, 3), "a 1, b 1, c 3, d 4"),
        ((2, 3, 4, 4), "a 1, b 2, c 3, d 3"),
        ((1, 3), "a 1, b 2"),
        ((2,), "a 1"),
        ((0, 1), "a 1, b 2"),
        ((1, 2, 2, 3), "a 1, b 2, c 2, d 4"),
        ((3, 1, 1, 1), "b 1, c 1, d 1, a 4"),
    ],
)
def test_other_rankings_are_refused_with_the_ranks_that_were_meant(ranks: tuple[int, ...], meant: str) -> None:
    with pytest.raises(InputError, match="annotator 'ada' gives ranks that do not fit together") as refused:
        ranked(*ranks)
    assert refused.value.example == "17"
    assert refused.value.field == "ranks"
    assert refused.value.remedy is not None
    assert refused.value.remedy.endswith(f": {meant}.")


def follows(ranks: tuple[int, ...]) -> bool:
    """The rule: the first rank is 1, and each next one is the same, or higher by the number that share the last."""
    ordered, shared = sorted(ranks), 1
    for before, after in pairwise(ordered):
        if after not in (before, before + shared):
            return False
        shared = shared + 1 if after == before else 1
    return ordered[0] == 1


def test_valid_is_what_follows_the_rule() -> None:
    for ranks in product(range(6), repeat=4):
        with nullcontext() if follows(ranks) else pytest.raises(InputError):
            ranked(*ranks)


@pytest.mark.parametrize("rank", [1.0, 1.5, True, "1", None, float("nan")])
def test_a_rank_is_a_whole_number(rank: object) -> None:
    with pytest.raises(
        InputError, match=r"example 17, field 'ranks': annotator 'ada' gives 'a' the rank .*whole number"
    ):
        ranked(rank)


def test_numbers_of_numpy_become_plain_ones() -> None:
    ranks = ranked(*np.array([1, 2])).ranks
    assert {type(rank) for rank in ranks.values()} == {int}


def test_a_ranking_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="annotator 'ada' ranks nothing"):
        ranked()


def test_a_ranking_keeps_what_was_checked() -> None:
    ranks = {"a": 1, "b": 2}
    ranking = Ranking("17", "ada", ranks)
    ranks["b"] = 7
    assert ranking.ranks == {"a": 1, "b": 2}
    assert ranking == Ranking("17", "ada", {"b": 2, "a": 1})


def test_groups_are_the_items_best_first() -> None:
    assert ranked(3, 1, 4, 1).groups == (("b", "d"), ("a",), ("c",))


@given(st.dictionaries(st.text(), st.integers(-3, 3) | st.floats(-2, 2), min_size=1, max_size=8))
def test_ranks_of_any_values_are_valid_and_in_their_order(values: dict[str, float]) -> None:
    ranks = Ranking("17", "ada", competition_ranks(values)).ranks
    for one, other in product(values, repeat=2):
        assert (ranks[one] < ranks[other]) == (values[one] < values[other])


def test_the_smallest_value_is_first() -> None:
    assert competition_ranks({"a": 0.2, "b": 0.7, "c": 0.2}) == {"a": 1, "b": 3, "c": 1}
    assert competition_ranks({}) == {}


def test_an_item_without_a_value_has_no_rank() -> None:
    with pytest.raises(InputError, match="'b' has no value to rank it by. Leave out items without a value"):
        competition_ranks({"a": 1.0, "b": float("nan")})


def test_rankings_are_sorted_by_example_and_then_by_annotator() -> None:
    rankings = [ranked(1, example=example, annotator=annotator) for example, annotator in ("2b", "1b", "2a", "1a")]
    assert [(each.example, each.annotator) for each in in_order(rankings)] == [*zip("1122", "abab", strict=True)]


def test_items_are_all_that_anybody_ranked() -> None:
    assert items_of([Ranking("1", "x", {"b": 1}), Ranking("2", "x", {"c": 1, "a": 2})]) == ("a", "b", "c")


def test_no_rankings_are_refused() -> None:
    with pytest.raises(InputError, match="there are no rankings"):
        in_order([])


def test_two_rankings_of_one_example_by_one_annotator_are_refused() -> None:
    with pytest.raises(InputError, match="example 17: annotator 'ada' ranks it twice. Keep one") as refused:
        in_order([ranked(1, 2), ranked(1, 1, annotator="bob"), ranked(2, 1)])
    assert refused.value.example == "17"
