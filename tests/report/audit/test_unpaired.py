"""Unpaired tests give the published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportions_ztest

from veridical.report.audit.unpaired import rank_sum, two_proportions, unpaired_t

ONE = np.array([0.62, 0.55, 0.70, 0.41, 0.58, 0.66, 0.49, 0.73])
OTHER = np.array([0.51, 0.50, 0.69, 0.45, 0.40, 0.52, 0.47, 0.60])


def test_rank_sum() -> None:
    assert rank_sum(ONE, OTHER).p == pytest.approx(0.141482, abs=1e-6)


def test_unpaired_t() -> None:
    assert unpaired_t(ONE, OTHER).p == pytest.approx(0.154588, abs=1e-6)


def test_two_proportions() -> None:
    found = two_proportions(89, 100, 60, 100)
    assert found.statistic == pytest.approx(4.704731, abs=1e-6)
    assert found.p == pytest.approx(2.54e-6, rel=1e-2)
    assert (found.statistic, found.p) == pytest.approx(proportions_ztest([89, 60], [100, 100]))


def test_samples_may_differ_in_size_and_have_gaps() -> None:
    found = rank_sum(np.append(ONE, np.nan), OTHER[:5])
    assert found == rank_sum(ONE, OTHER[:5])
    assert found.n == 13


def test_nothing_to_compare_is_no_evidence() -> None:
    assert rank_sum(ONE, np.array([np.nan])).p == 1
    assert unpaired_t(ONE, np.array([np.nan])).p == 1
    assert unpaired_t(np.full(4, 0.5), np.full(4, 0.5)).p == 1
    assert two_proportions(5, 5, 7, 7).p == 1
