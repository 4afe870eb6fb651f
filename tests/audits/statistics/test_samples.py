"""Intervals cover the mean as often as they say; tests, effects, correction and power agree with other tools."""

from __future__ import annotations

import math
import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from veridical.audits.statistics.samples import (
    MOST,
    cohen,
    documents_needed,
    estimate,
    estimates,
    fewest,
    holm,
    levels,
    rank_biserial,
    signed_rank,
    smallest_effect,
)


def test_a_bootstrap_interval_of_many_normal_numbers_is_about_the_normal_one() -> None:
    sample = np.random.default_rng(1).normal(size=2000)
    found, half = estimate(sample), 1.96 * sample.std() / math.sqrt(2000)
    assert found.low == pytest.approx(sample.mean() - half, abs=0.08 * half)
    assert found.high == pytest.approx(sample.mean() + half, abs=0.08 * half)


def test_intervals_cover_the_true_mean_about_as_often_as_they_say() -> None:
    generator = np.random.default_rng(2)
    found = estimates([generator.normal(1, size=60) for _ in range(2000)])
    assert np.mean([each.low <= 1 <= each.high for each in found]) == pytest.approx(0.95, abs=0.025)


def test_the_order_of_documents_changes_nothing() -> None:
    sample = np.random.default_rng(3).random(101)
    assert estimate(sample) == estimate(sample[::-1].copy())


def test_a_sample_has_the_same_interval_alone_and_among_others() -> None:
    samples = [np.random.default_rng(seed).random(20 + seed % 2) for seed in range(6)]
    for alone, among in zip([estimate(sample) for sample in samples], estimates(samples), strict=True):
        assert among.n == alone.n
        assert [among.mean, among.low, among.high] == pytest.approx([alone.mean, alone.low, alone.high], abs=1e-12)


def test_what_is_undefined_does_not_count() -> None:
    assert estimate(np.array([1.0, np.nan, 2.0, 3.0])) == estimate(np.array([1.0, 2.0, 3.0]))


def test_without_two_documents_there_is_no_interval() -> None:
    one, none = estimates([np.array([0.5, np.nan]), np.array([np.nan])])
    assert (one.mean, one.n) == (0.5, 1)
    assert none.n == 0
    assert all(math.isnan(number) for number in (one.low, one.high, none.mean, none.low, none.high))


def test_equal_numbers_leave_no_doubt() -> None:
    found = estimate(np.full(10, 0.25))
    assert [found.low, found.mean, found.high] == pytest.approx([0.25] * 3)


def test_memory_is_bounded_however_many_documents_there_are() -> None:
    sample = np.random.default_rng(4).random(20_000)  # all weights at once would be 320 MB
    tracemalloc.start()
    found = estimate(sample)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.low < found.mean < found.high
    assert peak < 200e6


ONE = np.array([0.62, 0.55, 0.70, 0.41, 0.58, 0.66, 0.49, 0.73])
OTHER = np.array([0.51, 0.50, 0.69, 0.45, 0.40, 0.52, 0.47, 0.60])


def test_signed_rank_is_exact_for_few_documents() -> None:
    found = signed_rank(ONE - OTHER)
    assert (found.statistic, found.n) == (3, 8)
    assert found.p == pytest.approx(0.0390625)


def test_fifty_differences_are_exact_and_fifty_one_are_not() -> None:
    differences = np.random.default_rng(0).normal(0.2, size=51)
    exact = stats.wilcoxon(differences[:50], method="exact").pvalue
    assert signed_rank(differences[:50]).p == pytest.approx(exact)
    corrected = stats.wilcoxon(differences, correction=True, method="asymptotic").pvalue
    assert signed_rank(differences).p == pytest.approx(corrected)
    assert signed_rank(differences).p != pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, rel=1e-6)


@pytest.mark.parametrize(("count", "expected"), [(4, 0.125), (5, 0.0625), (6, 0.03125), (8, 0.0078125)])
def test_equal_differences_one_way_are_as_likely_as_so_many_heads_or_tails(count: int, expected: float) -> None:
    assert signed_rank(np.ones(count)).p == pytest.approx(expected)
    assert signed_rank(-np.ones(count)).p == pytest.approx(expected)


@pytest.mark.parametrize(
    "differences", [[1.0, 1, 2, 2, -1, 3, 4, -2, 5, 6], [0.5, 0.5, -1, 1, 1, -0.5], [3, -1, -1, 2]]
)
def test_with_ties_it_agrees_with_going_through_all_signs(differences: list[float]) -> None:
    ranks = stats.rankdata(np.abs(differences))
    sums = np.array([ranks[list(signs)].sum() for signs in product([True, False], repeat=len(ranks))])
    smaller = signed_rank(np.array(differences)).statistic
    assert signed_rank(np.array(differences)).p == pytest.approx(min(1, 2 * np.mean(sums <= smaller)))


def test_discordant_documents_are_a_test_of_their_signs() -> None:
    """Differences of 0 and 1 have one size, so the test is the binomial one, exactly or nearly."""
    for count, positive in [(9, 7), (50, 33), (60, 39), (200, 115), (200, 100)]:
        differences = np.repeat([1.0, -1.0, 0.0], [positive, count - positive, 30])
        expected = stats.binomtest(positive, count).pvalue
        assert signed_rank(differences).p == pytest.approx(expected, rel=1e-9 if count <= 50 else 0.05)


@pytest.mark.parametrize("count", [*range(4, 51), 60, 80, 120, 300])
def test_discordant_documents_differ_by_chance_in_at_most_one_of_twenty_audits(count: int) -> None:
    positive = np.arange(count + 1)
    found = np.array([signed_rank(np.repeat([1.0, -1.0], [k, count - k])).p < 0.05 for k in positive])
    assert stats.binom.pmf(positive[found], count, 0.5).sum() <= 0.05


@pytest.mark.parametrize("count", [8, 12, 20, 40, 60, 200])
@pytest.mark.parametrize("sizes", [(0.0, 1.0), (0.0, 0.05, 0.1, 0.15), (1.0, 2.0, 3.0, 4.0, 5.0)])
def test_tied_differences_are_not_significant_too_often(count: int, sizes: tuple[float, ...]) -> None:
    generator = np.random.default_rng(0)
    drawn = generator.choice(sizes, (2000, count)) * generator.choice([-1.0, 1.0], (2000, count))
    assert np.mean([signed_rank(each).p < 0.05 for each in drawn]) <= 0.055


def test_differences_that_only_rounding_tells_apart_are_ties() -> None:
    differences = np.array([0.3 - 0.2, 0.2 - 0.1, 0.4, -0.5, 0.6, 0.7])
    assert differences[0] != differences[1]
    assert signed_rank(differences) == signed_rank(np.array([0.1, 0.1, 0.4, -0.5, 0.6, 0.7]))


def test_zeros_and_the_undefined_are_dropped() -> None:
    found = signed_rank(np.concatenate([ONE - OTHER, [0, 0, np.nan]]))
    assert found == signed_rank(ONE - OTHER)


@pytest.mark.parametrize("differences", [np.zeros(5), np.array([]), np.full(3, np.nan)])
def test_without_differences_p_is_one(differences: np.ndarray) -> None:
    assert (signed_rank(differences).p, signed_rank(differences).n) == (1, 0)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.1, 0.2, 0.3], 1.0),
        ([-0.1, -0.2], -1.0),
        ([0.1, 0.2, -0.3], 0.0),  # ranks 1 + 2 - 3
        ([0.1, 0.2, 0.3, -0.4, 0.0, math.nan], 0.2),  # ranks (1 + 2 + 3 - 4) / 10
        ([0.0, 0.0], 0.0),
    ],
)
def test_rank_biserial(differences: list[float], expected: float) -> None:
    assert rank_biserial(np.array(differences)) == pytest.approx(expected)


def test_cohen_is_in_standard_deviations_of_the_differences() -> None:
    assert cohen(np.array([1.0, 2.0, 3.0, math.nan])) == pytest.approx(2.0)
    assert cohen(np.array([-1.0, -2.0, -3.0])) == pytest.approx(-2.0)


def test_equal_differences_have_an_infinite_effect_or_none() -> None:
    assert cohen(np.full(3, 0.1)) == math.inf
    assert cohen(np.array([0.2 - 0.3, 0.1 - 0.2])) == -math.inf  # they differ by rounding only
    assert cohen(np.zeros(3)) == 0


def test_one_difference_has_no_effect_size() -> None:
    assert math.isnan(cohen(np.array([0.5])))


def test_four_tests_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [p < 0.05 for p in holm([0.01, 0.04, 0.03, 0.005])] == [True, False, False, True]


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_it_agrees_with_statsmodels(count: int) -> None:
    ps = np.random.default_rng(count).random(count) ** 3
    ps[: count // 3] = ps[-1]  # ties
    assert holm(list(ps)) == pytest.approx(multipletests(ps, method="holm")[1])


def test_nothing_to_correct() -> None:
    assert holm([]) == []
    assert levels([]) == []


def test_the_clearest_test_has_the_strictest_level() -> None:
    assert levels([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.05 / 3, 0.05, 0.05 / 2, 0.05 / 4])


def test_by_hand() -> None:
    expected = ((1.959964 + 0.841621) / 0.3) ** 2 * math.pi / 3  # 91.3
    assert documents_needed(0.3) == math.ceil(expected) == 92
    assert documents_needed(-0.3) == 92


def test_so_many_documents_have_about_80_percent_power() -> None:
    count, generator = documents_needed(0.4), np.random.default_rng(0)
    assert count is not None
    found = [signed_rank(generator.normal(0.4, size=count)).p < 0.05 for _ in range(1000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


def test_a_stricter_level_needs_more() -> None:
    assert documents_needed(0.3, 0.05 / 10) == 155  # ((2.807034 + 0.841621) / 0.3) ** 2 * pi / 3 = 154.9


@pytest.mark.parametrize("effect", [0.0, 1e-4, math.nan])
def test_no_effect_would_need_more_than_anyone_has(effect: float) -> None:
    assert documents_needed(effect) is None


def test_large_effects_still_need_enough_documents_for_any_p() -> None:
    assert fewest(0.05) == 6
    assert signed_rank(np.arange(1.0, 7)).p < 0.05 < signed_rank(np.arange(1.0, 6)).p
    assert documents_needed(5.0) == documents_needed(math.inf) == 6


def test_the_most_is_reached_and_not_passed() -> None:
    edge = 2.801585 / math.sqrt(MOST * 3 / math.pi)
    assert documents_needed(edge * 1.001) is not None
    assert documents_needed(edge * 0.999) is None


def test_the_smallest_effect_is_the_one_that_so_many_documents_are_needed_for() -> None:
    for documents, level in [(30, 0.05), (300, 0.05), (300, 0.001)]:
        effect = smallest_effect(documents, level)
        assert documents_needed(effect * 1.0001, level) <= documents < documents_needed(effect * 0.99, level)
    assert smallest_effect(300) == pytest.approx(2.8016 / math.sqrt(300 * 3 / math.pi), rel=1e-4)
    assert smallest_effect(5) == math.inf
