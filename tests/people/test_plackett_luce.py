"""Better items have higher worths, intervals are as wide as doubt is, and names and orders mean nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from veridical.core.errors import InputError, UsageError
from veridical.people import ItemPair, Ranking, Worths, plackett_luce
from veridical.people.resamples import Over

Study = Callable[..., list[Ranking]]

FOUR = [0.6, 0.2, -0.2, -0.6]


def values(worths: Worths) -> dict[str, float]:
    return {each.item: each.value for each in worths.worths}


def errors(worths: Worths) -> dict[str, float]:
    return {each.item: each.error for each in worths.worths}


def ranks(worths: Worths) -> dict[str, str]:
    return {each.item: each.rank for each in worths.worths}


def said(ranks: dict[str, int], examples: int, annotators: int = 1) -> list[Ranking]:
    return [Ranking(f"{at:03d}", f"p{person}", ranks) for at in range(examples) for person in range(annotators)]


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_a_better_item_has_a_higher_worth(study: Study, step: float) -> None:
    found = plackett_luce(study([-0.2, 0.6, -0.6, 0.2], 200, 3, seed=0, step=step))
    assert [each.item for each in found.worths] == ["B", "D", "A", "C"]
    assert ranks(found) == {"B": "1", "D": "2", "A": "3", "C": "4"}
    assert all(pair.better in (pair.first, None) for pair in found.pairs)
    assert found.pairs[2].better == "B"  # the best and the worst
    assert (found.rankings, found.annotators, found.examples) == (600, 3, 200)


def test_the_truth_is_found(study: Study) -> None:
    found = plackett_luce(study(FOUR, 2000, 3, seed=1), draws=200)
    assert values(found) == pytest.approx(dict(zip("ABCD", FOUR, strict=True)), abs=0.05)
    assert sum(values(found).values()) == pytest.approx(0)
    assert found.ties == {}


def test_partial_rankings_show_the_same(study: Study) -> None:
    """Each annotator sees three of the four items: what is left out counts for nothing."""
    generator = np.random.default_rng(0)
    partial = []
    for each in study(FOUR, 2000, 3, seed=2):
        seen = sorted(generator.choice(list("ABCD"), 3, replace=False), key=each.ranks.__getitem__)
        partial.append(replace(each, ranks={item: at + 1 for at, item in enumerate(seen)}))
    assert values(plackett_luce(partial, draws=50)) == pytest.approx(dict(zip("ABCD", FOUR, strict=True)), abs=0.06)


def test_items_that_only_others_join_are_compared() -> None:
    rankings = [
        Ranking("1", "x", {"a": 1, "b": 2}),
        Ranking("2", "x", {"b": 1, "c": 2}),
        Ranking("3", "x", {"d": 1, "c": 2}),
    ]
    assert [each.item for each in plackett_luce(rankings).worths][:1] == ["a"]


def test_items_that_nobody_compares_are_refused() -> None:
    rankings = [Ranking("1", "x", {"a": 1, "b": 2}), Ranking("2", "y", {"c": 1, "d": 2}), Ranking("3", "y", {"e": 1})]
    with pytest.raises(
        InputError, match="nobody compares any of a, b with any of c, d. Let somebody rank items of both"
    ):
        plackett_luce(rankings)


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_the_order_of_rankings_and_of_items_changes_nothing(study: Study, step: float) -> None:
    rankings = study(FOUR, 20, 3, seed=3, step=step)
    shuffled = [replace(each, ranks=dict(reversed(each.ranks.items()))) for each in reversed(rankings)]
    assert plackett_luce(shuffled) == plackett_luce(rankings)


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_names_of_items_mean_nothing(study: Study, step: float) -> None:
    rankings, names = study(FOUR, 20, 3, seed=4, step=step), dict(zip("ABCD", "ZQMB", strict=True))
    renamed = [replace(each, ranks={names[item]: rank for item, rank in each.ranks.items()}) for each in rankings]
    found, other = plackett_luce(rankings), plackett_luce(renamed)
    assert values(other) == pytest.approx({names[item]: value for item, value in values(found).items()}, abs=1e-8)
    assert errors(other) == pytest.approx({names[item]: error for item, error in errors(found).items()}, abs=1e-6)


def test_names_of_people_and_examples_change_the_draws_alone(study: Study) -> None:
    rankings = study(FOUR, 20, 4, seed=5)
    renamed = [
        Ranking(each.example[::-1], {"p0": "z"}.get(each.annotator, each.annotator), each.ranks) for each in rankings
    ]
    found, other = plackett_luce(rankings), plackett_luce(renamed)
    assert values(other) == pytest.approx(values(found), abs=1e-8)
    assert errors(other) == pytest.approx(errors(found), rel=0.15)


def test_a_seed_gives_the_same_numbers(study: Study) -> None:
    rankings = study(FOUR, 20, 3, seed=6, step=1.0)
    assert plackett_luce(rankings, seed=1) == plackett_luce(rankings, seed=1)
    assert errors(plackett_luce(rankings, seed=1)) != errors(plackett_luce(rankings, seed=2))
    assert errors(plackett_luce(rankings, seed=1)) == pytest.approx(errors(plackett_luce(rankings, seed=2)), rel=0.15)


@pytest.mark.parametrize(("matches", "error"), [(60, 0.21), (150, 0.10), (600, 0.05)])
def test_more_rankings_leave_less_doubt(study: Study, matches: int, error: float) -> None:
    """Four times as many rankings halve the error, and TrueSkill's sigma would grow."""
    studies = [study([1.5, 0.5, -0.5, -1.5], matches // 3, 3, seed=seed) for seed in range(4)]
    found = [errors(plackett_luce(each, over="rankings", draws=300)) for each in studies]
    assert np.mean([*map(list, (each.values() for each in found))]) == pytest.approx(error, rel=0.25)


def test_annotators_who_differ_make_intervals_wider(study: Study) -> None:
    alike = study(FOUR, 40, 6, seed=7)
    unlike = study(FOUR, 40, 6, seed=7, of_annotators=1.0)
    assert np.mean(list(errors(plackett_luce(unlike)).values())) > 1.5 * np.mean(
        list(errors(plackett_luce(alike)).values())
    )

    def drawn(over: Over) -> float:
        return float(np.mean(list(errors(plackett_luce(unlike, over=over)).values())))

    assert drawn("both") > drawn("annotators") > 2 * drawn("examples")
    assert drawn("examples") == pytest.approx(drawn("rankings"), rel=0.3)


def test_two_rankings_that_agree_prove_nothing() -> None:
    """A bootstrap alone would see no doubt: all its draws are the same."""
    found = plackett_luce(said({"a": 1, "b": 2}, examples=2))
    assert ranks(found) == {"a": "1-2", "b": "1-2"}
    assert [pair.better for pair in found.pairs] == [None]
    assert values(found)["a"] > 0


def test_many_rankings_that_agree_do() -> None:
    found = plackett_luce(said({"a": 1, "b": 2, "c": 3}, examples=40))
    assert ranks(found) == {"a": "1", "b": "2", "c": "3"}
    assert 2 < values(found)["a"] < 10
    assert found.pairs[0].better == "a"


def test_everything_tied_is_equal() -> None:
    found = plackett_luce(said(dict.fromkeys("abcd", 1), examples=5, annotators=2))
    assert values(found) == dict.fromkeys("abcd", 0.0)
    assert ranks(found) == dict.fromkeys("abcd", "1-4")
    assert {pair.better for pair in found.pairs} == {None}
    assert found.ties[4] > 100


def test_one_ranking_leaves_the_error_unknown() -> None:
    found = plackett_luce(said({"a": 1, "b": 2, "c": 3}, examples=1))
    assert values(found)["a"] > values(found)["b"] > values(found)["c"]
    assert all(math.isnan(number) for each in found.worths for number in (each.error, each.low, each.high))
    assert set(ranks(found).values()) == {"1-3"}
    assert {pair.better for pair in found.pairs} == {None}


@pytest.mark.parametrize(("examples", "annotators"), [(30, 1), (1, 30)])
def test_one_annotator_or_one_example_is_enough_for_an_error(study: Study, examples: int, annotators: int) -> None:
    found = plackett_luce(study([1, 0, -1], examples, annotators, seed=8))
    assert all(0.1 < error < 0.5 for error in errors(found).values())
    assert (found.examples, found.annotators) == (examples, annotators)


def test_what_is_not_drawn_again_leaves_the_error_unknown(study: Study) -> None:
    found = plackett_luce(study([1, 0, -1], 30, 1, seed=8), over="annotators")
    assert all(math.isnan(error) for error in errors(found).values())


def test_one_item_is_neither_good_nor_bad() -> None:
    found = plackett_luce(said({"a": 1}, examples=3, annotators=2))
    assert (values(found), ranks(found), found.pairs) == ({"a": 0.0}, {"a": "1"}, ())


def test_no_rankings_and_no_draws_are_refused() -> None:
    with pytest.raises(InputError, match="no rankings"):
        plackett_luce([])
    with pytest.raises(UsageError, match="draws=0 is too few"):
        plackett_luce(said({"a": 1, "b": 2}, examples=2), draws=0)


def test_an_item_is_found_by_its_name(study: Study) -> None:
    found = plackett_luce(study(FOUR, 20, 2, seed=9))
    assert found["C"] == next(each for each in found.worths if each.item == "C")
    with pytest.raises(KeyError, match="E"):
        found["E"]


def test_pairs_are_all_there_are_in_the_order_of_worths(study: Study) -> None:
    found = plackett_luce(study([0.2, 0.6, -0.2, -0.6], 30, 3, seed=10, step=1.0))
    order = [each.item for each in found.worths]
    assert [(pair.first, pair.second) for pair in found.pairs] == [*combinations(order, 2)]
    for pair in found.pairs:
        assert pair.difference == pytest.approx(found[pair.first].value - found[pair.second].value)
        assert pair.difference - pair.low == pytest.approx(pair.high - pair.difference)


def test_the_chance_to_be_preferred() -> None:
    assert ItemPair("a", "b", math.log(3), 0.5, 1.7).chance == pytest.approx(0.75)
    assert ItemPair("a", "b", -math.log(3), -1.7, -0.5).chance == pytest.approx(0.25)


def test_the_better_of_a_pair() -> None:
    assert ItemPair("a", "b", 1.0, 0.5, 1.5).better == "a"
    assert ItemPair("a", "b", -1.0, -1.5, -0.5).better == "b"
    assert ItemPair("a", "b", 0.2, -0.5, 1.5).better is None


def test_one_pair_has_the_usual_interval_and_more_pairs_wider_ones(study: Study) -> None:
    rankings = said({"a": 1, "b": 2}, 30) + [Ranking(f"x{at}", "q", {"b": 1, "a": 2}) for at in range(15)]
    (pair,) = (found := plackett_luce(rankings)).pairs
    assert pair.high - pair.difference == pytest.approx(
        1.96 * 2 * found["a"].error, rel=1e-3
    )  # the worths are opposite
    four = plackett_luce(study(FOUR, 50, 3, seed=11))
    half = four.pairs[0].high - four.pairs[0].difference
    one, other = (four[item].error for item in (four.pairs[0].first, four.pairs[0].second))
    assert half > 1.96 * math.hypot(one, other)
