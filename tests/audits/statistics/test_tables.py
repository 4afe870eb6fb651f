"""Contrasts: verdicts know the direction, the correction, and when mean and ranks disagree."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from veridical.audits import Audit, AuditedMetric
from veridical.audits.statistics.findings import MetricTable
from veridical.audits.statistics.samples import holm
from veridical.audits.statistics.summary import contrasts, table, turned_around

CLEAR = np.linspace(0.1, 0.3, 20)
NOISE = np.random.default_rng(0).normal(0.01, 0.1, 20)


def test_verdicts_know_the_direction() -> None:
    assert contrasts([CLEAR], [True])[0].verdict == "first better"
    assert contrasts([CLEAR], [False])[0].verdict == "second better"
    assert contrasts([-CLEAR], [True])[0].verdict == "second better"
    assert [each.verdict for each in contrasts([CLEAR, CLEAR], [True, False])] == ["first better", "second better"]


def test_everything_about_a_clear_difference() -> None:
    found = contrasts([CLEAR], [True])[0]
    assert found.mean == pytest.approx(0.2)
    assert 0.15 < found.low < 0.2 < found.high < 0.25
    assert (found.n, found.tested, found.rank_biserial, found.needed) == (20, 20, 1, None)
    assert found.p == found.adjusted == pytest.approx(2 / 2**20)


def test_what_cannot_be_told_says_how_many_documents_would_be_needed() -> None:
    found = contrasts([NOISE], [True])[0]
    assert found.verdict == "cannot tell"
    assert found.needed is not None
    assert found.needed > 20
    assert contrasts([np.zeros(20)], [True])[0].needed is None


def test_more_comparisons_ask_for_more_evidence() -> None:
    weak = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, -0.05])  # p = 0.016
    alone, among = (contrasts([weak, *[NOISE] * count], [True] * (1 + count))[0] for count in (0, 5))
    assert (alone.p, alone.verdict) == (among.p, "first better")
    assert (among.adjusted, among.verdict) == (pytest.approx(6 * alone.p), "cannot tell")


def test_the_mean_one_way_and_the_ranks_the_other_is_no_verdict() -> None:
    skewed = np.concatenate([np.linspace(0.01, 0.02, 40), [-5.0, -6.0]])
    found = contrasts([skewed], [True])[0]
    assert found.adjusted < 0.001
    assert found.mean < 0 < found.rank_biserial
    assert found.verdict == "cannot tell"


def test_turned_around_is_the_contrast_of_the_negated_differences() -> None:
    for sample in (CLEAR, NOISE):
        found, expected = (contrasts([each], [True])[0] for each in (sample, -sample))
        turned = turned_around(found)
        assert (turned.verdict, turned.needed, turned.p) == (expected.verdict, expected.needed, expected.p)
        assert turned.mean == pytest.approx(expected.mean)
        assert (turned.low, turned.high) == (-found.high, -found.low)
        assert [turned.cohen, turned.rank_biserial] == pytest.approx([expected.cohen, expected.rank_biserial])


Make = Callable[..., Audit]

LOW = list(np.linspace(0.10, 0.20, 20))
HIGH = [value + 0.5 + 0.001 * index for index, value in enumerate(LOW)]
LEVEL = [value + 0.002 * (-1) ** index * (index + 1) for index, value in enumerate(HIGH)]
MIDDLE = [value + 0.2 + 0.002 * index for index, value in enumerate(LOW)]
VALUES = {"aopc": {"random": LOW, "lime": HIGH, "lrp": MIDDLE, "shap": LEVEL}}
TURNED = {"aopc": {"lime": LOW, "lrp": MIDDLE}}


def of(audit: Audit) -> MetricTable:
    return table(audit, audit.metrics[0])


def test_cells_have_means_intervals_and_counts(make_audit: Make) -> None:
    found = of(make_audit(VALUES)).cell("lime")
    assert found is not None
    assert found.mean == pytest.approx(np.mean(HIGH))
    assert found.std == pytest.approx(np.std(HIGH, ddof=1))
    assert found.low < found.mean < found.high
    assert (found.scored, found.undefined, found.order) == (20, 0, "given")


def test_every_pair_of_methods_is_compared_once_and_corrected_together(make_audit: Make) -> None:
    found = of(make_audit(VALUES))
    assert len(found.pairs) == 6
    better = {(pair.first, pair.second): pair.better for pair in found.pairs}
    assert better["random", "lime"] == "lime"
    assert better["lime", "lrp"] == "lime"
    assert better["lime", "shap"] is None
    adjusted = holm([pair.contrast.p for pair in found.pairs])
    assert [pair.contrast.adjusted for pair in found.pairs] == adjusted


def test_the_best_are_those_that_cannot_be_told_from_the_best_mean(make_audit: Make) -> None:
    assert set(of(make_audit(VALUES)).best) == {"lime", "shap"}


def test_lower_may_be_better(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    found = of(make_audit(VALUES, metrics=(make_metric("aopc", greater_is_better=False),)))
    assert found.best == ("random",)
    assert {cell.method: cell.beats_floor for cell in found.cells} == {
        "random": None,
        "lime": False,
        "lrp": False,
        "shap": False,
    }


def test_reversed_orders_are_cells_and_checks(make_audit: Make) -> None:
    found = of(make_audit(VALUES, TURNED))
    lime, turned = found.cell("lime"), found.cell("lime", "reversed")
    assert lime is not None
    assert turned is not None
    assert lime.reversed_mean == turned.mean == pytest.approx(np.mean(LOW))
    assert turned.beats_floor is None
    checks = {each.method: each.reversed for each in found.sanity}
    assert set(checks) == {"lime", "lrp", "shap"}
    assert checks["lime"] is not None
    assert checks["lime"].verdict == "first better"
    assert checks["lrp"] is not None
    assert (checks["lrp"].verdict, checks["lrp"].p) == ("cannot tell", 1)
    assert checks["shap"] is None


def test_the_check_against_chance_has_the_method_first(make_audit: Make) -> None:
    for order in (("random", "lime"), ("lime", "random")):
        found = of(make_audit({"aopc": {name: VALUES["aopc"][name] for name in order}}))
        floor = found.sanity[0].floor
        assert floor is not None
        assert floor.verdict == "first better"
        assert floor.mean == pytest.approx(np.mean(HIGH) - np.mean(LOW))


def test_undefined_documents_are_counted_and_pairs_use_what_both_have(make_audit: Make) -> None:
    gaps: dict[str, Any] = {"aopc": {"lime": [math.nan, *HIGH[1:]], "lrp": [*MIDDLE[:-2], math.nan, math.nan]}}
    found = of(make_audit(gaps))
    assert [(cell.scored, cell.undefined) for cell in found.cells] == [(19, 1), (18, 2)]
    assert found.pairs[0].contrast.n == 17


def test_a_method_that_is_never_scored_has_a_cell_and_nothing_else(make_audit: Make) -> None:
    found = of(make_audit({"aopc": {"lime": HIGH, "lrp": [math.nan] * 20}}))
    assert found.cell("lrp").scored == 0  # type: ignore[union-attr]
    assert math.isnan(found.cell("lrp").mean)  # type: ignore[union-attr]
    assert (found.pairs, found.best) == ((), ("lime",))


def test_nothing_scored_has_no_best(make_audit: Make) -> None:
    found = of(make_audit({"aopc": {"lime": [math.nan] * 3, "random": [math.nan] * 3}}))
    assert (found.best, found.pairs, found.sanity) == ((), (), ())
