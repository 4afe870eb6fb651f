"""The table of a metric, from audits whose verdicts are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from veridical.report.audit import Audit, Judge
from veridical.report.audit.findings import Table
from veridical.report.audit.holm import holm
from veridical.report.audit.table import table

Make = Callable[..., Audit]

LOW = list(np.linspace(0.10, 0.20, 20))
HIGH = [value + 0.5 + 0.001 * index for index, value in enumerate(LOW)]
LEVEL = [value + 0.002 * (-1) ** index * (index + 1) for index, value in enumerate(HIGH)]
MIDDLE = [value + 0.2 + 0.002 * index for index, value in enumerate(LOW)]
VALUES = {"aopc": {"random": LOW, "lime": HIGH, "lrp": MIDDLE, "shap": LEVEL}}
TURNED = {"aopc": {"lime": LOW, "lrp": MIDDLE}}


def of(audit: Audit) -> Table:
    return table(audit, audit.metrics[0], "bootstrap")


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
    verdicts = {(pair.first, pair.second): pair.verdict for pair in found.pairs}
    assert verdicts["random", "lime"] == "lime better"
    assert verdicts["lime", "lrp"] == "lime better"
    assert verdicts["lime", "shap"] == "cannot tell"
    adjusted = holm([pair.contrast.p for pair in found.pairs])
    assert [pair.contrast.adjusted for pair in found.pairs] == adjusted


def test_the_best_are_those_that_cannot_be_told_from_the_best_mean(make_audit: Make) -> None:
    assert set(of(make_audit(VALUES)).best) == {"lime", "shap"}


def test_lower_may_be_better(make_audit: Make, make_judge: Callable[..., Judge]) -> None:
    found = of(make_audit(VALUES, metrics=(make_judge("aopc", greater_is_better=False),)))
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
