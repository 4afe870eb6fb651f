"""Intervals cover the mean as often as they say, and do not depend on the order of documents."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from veridical.report.audit.intervals import estimate, estimates


def test_a_t_interval_is_students() -> None:
    found = estimate(np.arange(1.0, 6), "t")
    assert (found.mean, found.n) == (3, 5)
    assert found.high - found.mean == pytest.approx(1.963243, abs=1e-6)
    assert found.mean - found.low == pytest.approx(1.963243, abs=1e-6)


def test_a_bootstrap_interval_of_many_normal_numbers_is_about_the_normal_one() -> None:
    sample = np.random.default_rng(1).normal(size=2000)
    found, half = estimate(sample), 1.96 * sample.std() / math.sqrt(2000)
    assert found.low == pytest.approx(sample.mean() - half, abs=0.08 * half)
    assert found.high == pytest.approx(sample.mean() + half, abs=0.08 * half)


@pytest.mark.parametrize("kind", ["bootstrap", "t"])
def test_intervals_cover_the_true_mean_about_as_often_as_they_say(kind: str) -> None:
    generator = np.random.default_rng(2)
    found = estimates([generator.normal(1, size=60) for _ in range(2000)], kind)
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
