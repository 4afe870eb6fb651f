"""Whatever makes the numbers of an audit say less is said."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document
from veridical.audits.statistics.summary import summarise

Make = Callable[..., Audit]

FINE, BAD = (list(np.random.default_rng(seed).random(20)) for seed in (0, 1))


def warnings(make_audit: Make, values: Any, **settings: Any) -> tuple[str, ...]:
    return summarise(make_audit(values, **settings)).warnings


def test_an_ordinary_audit_has_none(make_audit: Make) -> None:
    assert warnings(make_audit, {"comp": {"lime": FINE, "random": BAD}}) == ()


def test_undefined_documents_are_counted(make_audit: Make) -> None:
    values = {"comp": {"lime": [math.nan, *FINE[1:]], "lrp": [math.nan] * 3 + BAD[3:], "random": BAD}}
    assert warnings(make_audit, values) == (
        "comp is undefined for 1 to 3 of 20 documents with lime and lrp: means leave them out.",
    )


def test_too_few_documents_for_any_verdict(make_audit: Make) -> None:
    (found,) = warnings(make_audit, {"comp": {"lime": FINE[:5], "random": BAD[:5]}})
    assert found.startswith("With 5 documents and 1 pair of methods nothing can be significant")
    assert "at least 6 documents" in found


def test_only_one_class(make_audit: Make) -> None:
    documents = tuple(Document(str(index), "pos", 5 + index) for index in range(20))
    (found,) = warnings(make_audit, {"comp": {"lime": FINE, "random": BAD}}, documents=documents)
    assert found.startswith("Only one class, pos, is explained in all 20 documents")


def test_a_model_that_gives_a_number_has_no_classes(make_audit: Make) -> None:
    documents = tuple(Document(str(index), "value", 5 + index, label=0.5) for index in range(20))
    assert warnings(make_audit, {"comp": {"lime": FINE, "random": BAD}}, documents=documents) == ()
    sure = tuple(Document(str(index), "value", 5 + index, probability=0.9) for index in range(20))
    assert warnings(make_audit, {"comp": {"lime": FINE, "random": BAD}}, documents=sure)  # a class of this name


def test_a_metric_that_is_the_same_for_all(make_audit: Make) -> None:
    assert warnings(make_audit, {"comp": {"lime": [0.0] * 20, "random": [0.0] * 20}}) == (
        "comp is 0.000 for every document and method: here it cannot tell anything apart.",
    )
    assert not warnings(make_audit, {"comp": {"lime": [1.0] * 20, "random": [0.0] * 20}})


def test_the_judge_should_not_be_the_trainer(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    methods = tuple(AuditedMethod(name, {"method": {"name": name, "eraser": name}}) for name in ("pad", "mask"))
    methods += (AuditedMethod("lrp", {"method": {"name": "lrp"}}),)
    metrics = (make_metric("comp", spec={"name": "comp", "eraser": "pad"}), make_metric("auc"))
    values = {metric.name: {method.name: FINE for method in methods} for metric in metrics}
    values["comp"]["lrp"] = values["auc"]["lrp"] = BAD
    (found,) = warnings(make_audit, values, methods=methods, metrics=metrics)
    assert found.startswith("The judge is the trainer: comp took words away by pad, and so did pad to")


def test_a_mean_above_0_is_an_alarm_where_it_should_be_0(
    make_audit: Make, make_metric: Callable[..., AuditedMetric]
) -> None:
    values = {"leak": {"selector": [1.0, 0.0, 1.0] * 20, "honest": [1.0, -1.0, 0.0] * 20, "below": [-1.0] * 60}}
    metric = make_metric("leak", percent=True, alarm="It leaks", greater_is_better=False)
    warnings = make_audit(values, metrics=(metric,)).summary.warnings
    assert warnings[0].startswith("It leaks: selector 66.7 (95% interval ")
    assert warnings[0].endswith(") by leak.")
    assert not [each for each in warnings if "It leaks" in each and ("honest" in each or "below" in each)]
    assert not [each for each in make_audit(values).summary.warnings if "leaks" in each]
