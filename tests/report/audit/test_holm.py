"""Holm's correction is the known one."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from veridical.report.audit.holm import holm, levels


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
