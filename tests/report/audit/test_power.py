"""The documents that are said to be needed do give the power that is promised."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veridical.report.audit.paired import signed_rank
from veridical.report.audit.power import MOST, documents_needed, fewest


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
