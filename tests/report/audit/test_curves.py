"""Curves by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from veridical.report.audit import Audit, Judge, Row
from veridical.report.audit.curves import curves, flip_curves

Make = Callable[..., Audit]


def test_a_curve_is_the_mean_at_each_step(make_audit: Make, make_judge: Callable[..., Judge]) -> None:
    audit = make_audit({"comp": {"lime": [0.2, 0.4]}, "flat": {"lime": [1, 1]}})
    rows = (Row("0", "lime", "comp", 0.2, curve=(0.1, 0.3)), Row("1", "lime", "comp", 0.4, curve=(0.2, 0.6)))
    found = curves(replace(audit, rows=rows, metrics=(make_judge("comp", steps=(0.1, 0.5)), make_judge("flat"))), "t")
    assert [(curve.metric, curve.method, curve.steps) for curve in found] == [("comp", "lime", (0.1, 0.5))]
    assert [each.mean for each in found[0].estimates] == pytest.approx([0.15, 0.45])
    assert all(each.low < each.mean < each.high and each.n == 2 for each in found[0].estimates)


def test_flips_count_documents_that_changed_by_then(make_audit: Make) -> None:
    audit = make_audit({"flip": {"lime": [0.05, 0.5, 1.0, 1.0, np.nan]}})
    flipped = [1.0, 1.0, 1.0, 0.0, np.nan]
    rows = tuple(replace(row, details={"flipped": each}) for row, each in zip(audit.rows, flipped, strict=True))
    (found,) = flip_curves(replace(audit, rows=rows))
    at = dict(zip(found.shares, found.flipped, strict=True))
    assert found.n == 4
    assert (at[0], at[0.04], at[0.05], at[0.49], at[0.5], at[0.99], at[1]) == (0, 0, 0.25, 0.25, 0.5, 0.5, 0.75)


def test_shares_in_single_precision_are_not_a_step_late(make_audit: Make) -> None:
    audit = make_audit({"flip": {"lime": [float(np.float32(0.05))]}})
    rows = tuple(replace(row, details={"flipped": 1.0}) for row in audit.rows)
    (found,) = flip_curves(replace(audit, rows=rows))
    assert dict(zip(found.shares, found.flipped, strict=True))[0.05] == 1


def test_metrics_without_steps_or_flips_have_no_curves(make_audit: Make) -> None:
    audit = make_audit({"auc": {"lime": [0.5, 0.6]}})
    assert curves(audit, "t") == flip_curves(audit) == ()
