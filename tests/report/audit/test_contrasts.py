"""Contrasts: verdicts know the direction, the correction, and when mean and ranks disagree."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.report.audit.contrasts import contrasts, directed, turned_around

CLEAR = np.linspace(0.1, 0.3, 20)
NOISE = np.random.default_rng(0).normal(0.01, 0.1, 20)


def test_verdicts_know_the_direction() -> None:
    assert contrasts([CLEAR], True, "bootstrap")[0].verdict == "first better"
    assert contrasts([CLEAR], False, "bootstrap")[0].verdict == "second better"
    assert contrasts([-CLEAR], True, "bootstrap")[0].verdict == "second better"
    assert [each.verdict for each in directed([CLEAR, CLEAR], [True, False], "t")] == ["first better", "second better"]


def test_everything_about_a_clear_difference() -> None:
    found = contrasts([CLEAR], True, "t")[0]
    assert found.mean == pytest.approx(0.2)
    assert 0.15 < found.low < 0.2 < found.high < 0.25
    assert (found.n, found.tested, found.rank_biserial, found.needed) == (20, 20, 1, None)
    assert found.p == found.adjusted == pytest.approx(2 / 2**20)


def test_what_cannot_be_told_says_how_many_documents_would_be_needed() -> None:
    found = contrasts([NOISE], True, "bootstrap")[0]
    assert found.verdict == "cannot tell"
    assert found.needed is not None
    assert found.needed > 20
    assert contrasts([np.zeros(20)], True, "bootstrap")[0].needed is None


def test_more_comparisons_ask_for_more_evidence() -> None:
    weak = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, -0.05])  # p = 0.016
    alone, among = (contrasts([weak, *[NOISE] * count], True, "bootstrap")[0] for count in (0, 5))
    assert (alone.p, alone.verdict) == (among.p, "first better")
    assert (among.adjusted, among.verdict) == (pytest.approx(6 * alone.p), "cannot tell")


def test_the_mean_one_way_and_the_ranks_the_other_is_no_verdict() -> None:
    skewed = np.concatenate([np.linspace(0.01, 0.02, 40), [-5.0, -6.0]])
    found = contrasts([skewed], True, "bootstrap")[0]
    assert found.adjusted < 0.001
    assert found.mean < 0 < found.rank_biserial
    assert found.verdict == "cannot tell"


def test_turned_around_is_the_contrast_of_the_negated_differences() -> None:
    for sample in (CLEAR, NOISE):
        found, expected = (contrasts([each], True, "t")[0] for each in (sample, -sample))
        turned = turned_around(found)
        assert (turned.verdict, turned.needed, turned.p) == (expected.verdict, expected.needed, expected.p)
        assert [turned.mean, turned.low, turned.high] == pytest.approx([expected.mean, expected.low, expected.high])
        assert [turned.cohen, turned.rank_biserial] == pytest.approx([expected.cohen, expected.rank_biserial])
