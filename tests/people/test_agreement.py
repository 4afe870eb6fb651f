"""Agreement: textbook numbers, closed forms, and what annotators who agree, differ or guess should give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from veridical.core.errors import InputError, UsageError
from veridical.people import Ranking, agreement
from veridical.people.agreement import coincidences, kendall_w, ordinal_alpha

Study = Callable[..., list[Ranking]]

NA = 0
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3],
    [NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA],
]
"""Krippendorff's example: four observers, twelve units, some values missing."""


def alpha_of(observers: Sequence[Sequence[int]]) -> float:
    units = [*zip(*observers, strict=True)]
    values = sorted({value for row in observers for value in row} - {NA})
    counts = np.array([[unit.count(value) for value in values] for unit in units], dtype=float)
    return float(ordinal_alpha(coincidences(counts)))


def test_krippendorffs_example() -> None:
    """Published: .815 for ordinal data."""
    assert alpha_of(OBSERVERS) == pytest.approx(0.815, abs=5e-4)


def test_coincidences_of_krippendorffs_example() -> None:
    """Published, too: 40 values can be paired, 9, 13, 10, 5 and 3 of each kind."""
    counts = [[[row[unit] for row in OBSERVERS].count(value) for value in range(1, 6)] for unit in range(12)]
    found = coincidences(np.array(counts, dtype=float))
    assert found.sum(axis=0) == pytest.approx([9, 13, 10, 5, 3])
    assert np.diag(found) == pytest.approx([7, 10, 8, 4, 3])
    assert np.array_equal(found, found.T)


def test_two_kinds_of_values_by_hand() -> None:
    """Of four pairs one differs. Any two of the eight values, four of each, differ in 32 of 56: 1 - (2/8) / (32/56)."""
    assert alpha_of([[1, 1, 2, 2], [1, 1, 2, 1]]) == pytest.approx(1 - (2 / 8) / (2 * 5 * 3 / 56))


def test_full_agreement_and_its_opposite() -> None:
    assert alpha_of([[1, 2, 3], [1, 2, 3]]) == pytest.approx(1)
    assert alpha_of([[1, 2], [2, 1]]) == pytest.approx(-0.5)  # chance would differ in 8 of 12


def test_only_the_order_of_values_counts() -> None:
    stretched = [[value**3 for value in row] for row in OBSERVERS]
    assert alpha_of(stretched) == pytest.approx(alpha_of(OBSERVERS))


def test_without_two_different_values_alpha_is_undefined() -> None:
    assert math.isnan(alpha_of([[2, 2, 2], [2, 2, 2]]))
    assert math.isnan(alpha_of([[1, NA], [NA, 2]]))


def test_kendalls_w_by_hand() -> None:
    """Sums of ranks 4, 6 and 8: squares add up to 8, of at most 18."""
    assert kendall_w(np.array([[1, 2, 3], [1, 3, 2], [2, 1, 3]])) == pytest.approx(8 / 18)
    assert kendall_w(np.array([[1, 2, 3], [1, 2, 3]])) == pytest.approx(1)
    assert kendall_w(np.array([[1, 2, 3], [3, 2, 1]])) == pytest.approx(0)


def test_with_ties_full_agreement_is_still_one() -> None:
    assert kendall_w(np.array([[1, 1, 3, 4]] * 3)) == pytest.approx(1)
    assert kendall_w(np.array([[1, 2, 2, 2]] * 5)) == pytest.approx(1)


def test_when_all_is_tied_w_is_undefined() -> None:
    assert math.isnan(kendall_w(np.ones((3, 4))))
    assert math.isnan(kendall_w(np.ones((3, 1))))


@pytest.mark.parametrize("seed", range(10))
def test_w_is_friedmans_statistic(seed: int) -> None:
    """Which is W times annotators times (items - 1), and corrected for ties in the same way."""
    ranks = np.random.default_rng(seed).integers(1, 4, (5, 6))
    friedman = stats.friedmanchisquare(*ranks.T).statistic
    assert kendall_w(ranks) == pytest.approx(friedman / (5 * (6 - 1)))


def test_annotators_who_always_agree() -> None:
    orders = [{"a": 1, "b": 2, "c": 3}, {"c": 1, "a": 2, "b": 3}, {"b": 1, "a": 1, "c": 3}]
    found = agreement([Ranking(f"{at}", name, ranks) for at, ranks in enumerate(orders) for name in "xyz"])
    for each in (found.kendall, found.alpha):
        assert (each.value, each.low, each.high) == pytest.approx((1, 1, 1))
        assert each.examples == 3
    assert (found.annotators, found.chance) == (3, 1 / 3)


def test_annotators_who_guess_agree_by_chance(study: Study) -> None:
    """Then W is 1 over the number of annotators, and alpha is 0."""
    found = agreement(study([0, 0, 0, 0], 500, 4, seed=0))
    assert found.kendall.value == pytest.approx(1 / 4, abs=0.03)
    assert found.kendall.low < found.chance < found.kendall.high
    assert found.alpha.value == pytest.approx(0, abs=0.03)
    assert found.alpha.low < 0 < found.alpha.high


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_clearer_differences_make_more_agreement(study: Study, step: float) -> None:
    studies = [study([size, 0, -size], 100, 3, seed=1, step=step) for size in (0.0, 1.0, 3.0)]
    found = [agreement(each) for each in studies]
    assert found[0].kendall.value < found[1].kendall.value < found[2].kendall.value < 1
    assert found[0].alpha.value < found[1].alpha.value < found[2].alpha.value < 1


def test_intervals_are_about_as_wide_as_studies_differ(study: Study) -> None:
    found = [agreement(study([0.8, 0, -0.8], 40, 3, seed=seed), draws=300) for seed in range(60)]
    for one in ([each.kendall for each in found], [each.alpha for each in found]):
        widths = np.mean([each.high - each.low for each in one])
        assert widths == pytest.approx(2 * 1.96 * np.std([each.value for each in one], ddof=1), rel=0.3)


def test_an_incomplete_design_has_alpha_alone(study: Study) -> None:
    rankings = study([1, 0, -1], 20, 3, seed=2)
    for incomplete in (rankings[:-1], [*rankings[1:], replace(rankings[0], ranks={"A": 1, "B": 2})]):
        found = agreement(incomplete)
        assert math.isnan(found.kendall.value)
        assert found.kendall.examples == 0
        assert found.alpha.value == pytest.approx(agreement(rankings).alpha.value, abs=0.1)


def test_what_nobody_else_has_judged_says_nothing_of_agreement(study: Study) -> None:
    rankings = study([1, 0, -1], 20, 3, seed=3)
    alone = [Ranking(f"alone {at}", "p0", {"A": 3, "B": 2, "C": 1}) for at in range(5)]
    found = agreement([*rankings, *alone]).alpha
    assert found.value == pytest.approx(agreement(rankings).alpha.value)
    assert found.examples == 20


def test_examples_on_which_all_is_tied_do_not_count_for_w() -> None:
    ranks = [{"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1, "b": 1}]
    found = agreement([Ranking(f"{at}", name, each) for at, each in enumerate(ranks) for name in "xy"])
    assert (found.kendall.value, found.kendall.examples) == (1, 2)
    assert found.alpha.examples == 3


@pytest.mark.parametrize(
    "rankings",
    [
        [Ranking(f"{at}", "ada", {"a": 1, "b": 2}) for at in range(3)],
        [Ranking("1", name, {"a": 1}) for name in "xyz"],
        [Ranking(f"{at}", name, dict.fromkeys("abc", 1)) for at in range(3) for name in "xy"],
        [Ranking(f"{at}", f"p{at}", {"a": 1, "b": 2}) for at in range(3)],
    ],
    ids=["one annotator", "one item", "everything tied", "nobody shares an example"],
)
def test_where_agreement_means_nothing_it_is_undefined(rankings: list[Ranking]) -> None:
    found = agreement(rankings)
    for each in (found.kendall, found.alpha):
        assert all(math.isnan(number) for number in (each.value, each.low, each.high))
        assert each.examples == 0


def test_one_example_has_a_value_and_no_interval() -> None:
    found = agreement([Ranking("1", name, {"a": 1, "b": 2, "c": 3}) for name in "xy"])
    assert (found.kendall.value, found.alpha.value) == (1, 1)
    assert all(math.isnan(end) for each in (found.kendall, found.alpha) for end in (each.low, each.high))


def test_names_orders_and_seeds(study: Study) -> None:
    rankings = study([1, 0, -1], 20, 3, seed=4, step=1.0)
    names = dict(zip("ABC", "ZMB", strict=True))
    renamed = [replace(each, ranks={names[item]: rank for item, rank in each.ranks.items()}) for each in rankings[::-1]]
    found, other = agreement(rankings, seed=1), agreement(renamed, seed=1)
    assert other.alpha.value == pytest.approx(found.alpha.value)
    assert (other.kendall.low, other.kendall.high) == pytest.approx((found.kendall.low, found.kendall.high))
    assert agreement(rankings, seed=1) == found
    assert agreement(rankings, seed=2) != found


def test_no_rankings_and_no_draws_are_refused() -> None:
    with pytest.raises(InputError, match="no rankings"):
        agreement([])
    with pytest.raises(UsageError, match="draws=1 is too few"):
        agreement([Ranking("1", "ada", {"a": 1})], draws=1)
