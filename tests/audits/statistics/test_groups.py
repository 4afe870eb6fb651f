"""Scores by class and by length, step by step, and under several erasers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from veridical.audits import Audit, AuditedMetric, Document, Measurement
from veridical.audits.statistics.findings import Removal
from veridical.audits.statistics.groups import breakdown, curves, flip_curves, lengths, removals
from veridical.audits.statistics.summary import table

Make = Callable[..., Audit]

VALUES = {"aopc": {"lime": [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]}}


def means(audit: Audit, by: str) -> dict[str, tuple[float, int]]:
    parts = [part for part in breakdown(audit) if part.by == by]
    return {part.group: (pytest.approx(part.estimate.mean), part.estimate.n) for part in parts}


def test_by_the_explained_class_where_there_are_no_labels(make_audit: Make) -> None:
    assert means(make_audit(VALUES), "class") == {"neg": (0.2, 3), "pos": (0.8, 3)}


def test_by_label_where_there_is_one_and_never_by_numbers(make_audit: Make) -> None:
    audit = make_audit(VALUES)
    labels = ["good", "good", "bad", None, 0.5, "bad"]
    documents = [replace(each, label=label) for each, label in zip(audit.documents, labels, strict=True)]
    found = means(replace(audit, documents=tuple(documents)), "class")
    assert found == {"good": (0.5, 2), "bad": (0.45, 2), "pos": (0.8, 1), "neg": (0.3, 1)}


def test_by_thirds_of_lengths(make_audit: Make) -> None:
    assert means(make_audit(VALUES), "length") == {
        "3 to 4 units": (0.5, 2),
        "5 to 6 units": (0.5, 2),
        "7 to 8 units": (0.5, 2),
    }


@pytest.mark.parametrize(
    ("units", "names"),
    [
        ([5, 5, 5, 5], []),
        ([5, 5, 5, 9], ["5 units", "9 units"]),
        ([1, 5, 5, 5, 5, 9], ["1 to 5 units", "9 units"]),
        ([], []),
    ],
)
def test_texts_of_one_length_are_never_torn_apart(make_audit: Make, units: list[int], names: list[str]) -> None:
    documents = tuple(Document(str(index), "pos", count) for index, count in enumerate(units))
    groups = lengths(make_audit(VALUES, documents=documents))
    assert [group.name for group in groups] == names
    assert sum(group.members.sum() for group in groups) == (len(units) if names else 0)


def test_one_class_is_no_breakdown(make_audit: Make) -> None:
    audit = make_audit(VALUES)
    assert not means(replace(audit, documents=tuple(replace(each, target="pos") for each in audit.documents)), "class")


def test_a_curve_is_the_mean_at_each_step(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    audit = make_audit({"comp": {"lime": [0.2, 0.4]}, "flat": {"lime": [1, 1]}})
    rows = (
        Measurement("0", "lime", "comp", 0.2, curve=(0.1, 0.3)),
        Measurement("1", "lime", "comp", 0.4, curve=(0.2, 0.6)),
    )
    found = curves(replace(audit, rows=rows, metrics=(make_metric("comp", steps=(0.1, 0.5)), make_metric("flat"))))
    assert [(curve.metric, curve.method, curve.steps) for curve in found] == [("comp", "lime", (0.1, 0.5))]
    assert [each.mean for each in found[0].estimates] == pytest.approx([0.15, 0.45])
    assert all(each.low < each.mean < each.high and each.n == 2 for each in found[0].estimates)


def test_flips_count_documents_that_changed_by_then(make_audit: Make) -> None:
    audit = make_audit({"flip": {"lime": [0.05, 0.5, 1.0, 1.0, np.nan]}})
    flipped = [1.0, 1.0, 1.0, 0.0, np.nan]
    details = [{"flipped": each, "share": row.value} for row, each in zip(audit.rows, flipped, strict=True)]
    rows = tuple(replace(row, details=each) for row, each in zip(audit.rows, details, strict=True))
    (found,) = flip_curves(replace(audit, rows=rows))
    at = dict(zip(found.shares, found.flipped, strict=True))
    assert found.n == 4
    assert (at[0], at[0.04], at[0.05], at[0.49], at[0.5], at[0.99], at[1]) == (0, 0, 0.25, 0.25, 0.5, 0.5, 0.75)


def test_shares_in_single_precision_are_not_a_step_late(make_audit: Make) -> None:
    audit = make_audit({"flip": {"lime": [float(np.float32(0.05))]}})
    rows = tuple(replace(row, details={"flipped": 1.0, "share": row.value}) for row in audit.rows)
    (found,) = flip_curves(replace(audit, rows=rows))
    assert dict(zip(found.shares, found.flipped, strict=True))[0.05] == 1


def test_flips_of_the_floor_are_those_of_one_draw_and_not_of_a_mean(make_audit: Make) -> None:
    audit = make_audit({"flip": {"random": [0.6, 0.75]}})
    rows = tuple(replace(row, details={"flipped": 1.0, "share": 0.1}) for row in audit.rows)
    (found,) = flip_curves(replace(audit, rows=rows))
    assert dict(zip(found.shares, found.flipped, strict=True))[0.1] == 1.0


def test_metrics_without_steps_or_flips_have_no_curves(make_audit: Make) -> None:
    audit = make_audit({"auc": {"lime": [0.5, 0.6]}})
    assert curves(audit) == flip_curves(audit) == ()


NOISE = np.linspace(0, 0.1, 30)


def values(**means: float) -> dict[str, Sequence[float]]:
    return {method: list(mean + NOISE * (1 + 0.1 * place)) for place, (method, mean) in enumerate(means.items())}


def found(
    make_audit: Make, metrics: Sequence[AuditedMetric], by: Mapping[str, Mapping[str, Sequence[float]]]
) -> Sequence[Removal]:
    audit = make_audit(by, metrics=tuple(metrics))
    return removals(audit, [table(audit, metric) for metric in metrics])


def comp(make_metric: Callable[..., AuditedMetric], eraser: str, **options: object) -> AuditedMetric:
    name = f"comp({eraser}{options or ''})"
    return make_metric(name, spec={"name": "comp", "eraser": eraser, **options})


def test_a_ranking_that_survives(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    metrics = [comp(make_metric, "pad"), comp(make_metric, "delete")]
    means = [values(random=0.9, lrp=0.2, lime=0.6, shap=0.4), values(random=0, lrp=0.1, lime=0.3, shap=0.2)]
    (removal,) = found(make_audit, metrics, {metric.name: each for metric, each in zip(metrics, means, strict=True)})
    assert [ranking.methods for ranking in removal.rankings] == [("lime", "shap", "lrp")] * 2
    assert [ranking.eraser for ranking in removal.rankings] == ["pad", "delete"]
    assert (removal.kind, removal.survives) == ("comp", True)
    assert np.array(removal.kendall) == pytest.approx(np.ones((2, 2)))


def test_a_ranking_that_turns_over(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    metrics = [comp(make_metric, eraser) for eraser in ("pad", "delete", "mask")]
    means = [values(a=0.3, b=0.2, c=0.1), values(a=0.1, b=0.2, c=0.3), values(a=0.2, b=0.3, c=0.1)]
    (removal,) = found(make_audit, metrics, {metric.name: each for metric, each in zip(metrics, means, strict=True)})
    assert (removal.survives, removal.best) == (False, ())
    assert removal.kendall[0] == pytest.approx((1, -1, 1 / 3))  # one of three pairs differs between pad and mask


def test_lower_is_better_ranks_the_other_way(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    metrics = [
        make_metric(eraser, spec={"name": "flip", "eraser": eraser}, greater_is_better=False)
        for eraser in ("pad", "mask")
    ]
    (removal,) = found(make_audit, metrics, {metric.name: values(a=0.3, b=0.2) for metric in metrics})
    assert removal.rankings[0].methods == (*removal.best, "a") == ("b", "a")


def test_only_metrics_that_differ_in_nothing_else_are_side_by_side(
    make_audit: Make, make_metric: Callable[..., AuditedMetric]
) -> None:
    metrics = [comp(make_metric, "pad", bins=[1, 2]), comp(make_metric, "delete", bins=[1]), make_metric("auc")]
    assert not found(make_audit, metrics, {metric.name: values(a=0.1, b=0.2) for metric in metrics})


def test_options_from_memory_and_from_a_file_are_the_same(
    make_audit: Make, make_metric: Callable[..., AuditedMetric]
) -> None:
    metrics = [comp(make_metric, "pad", bins=[1, 2]), comp(make_metric, "delete", bins=(1, 2))]
    assert len(found(make_audit, metrics, {metric.name: values(a=0.1, b=0.2) for metric in metrics})) == 1


def test_one_method_has_no_ranking(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    metrics = [comp(make_metric, "pad"), comp(make_metric, "delete")]
    assert not found(make_audit, metrics, {metric.name: values(random=0.1, lime=0.2) for metric in metrics})
