"""The verdict in words says what the numbers say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from veridical.audits import Audit, AuditedMetric
from veridical.audits.statistics.summary import summarise

Make = Callable[..., Audit]

NOISE = np.random.default_rng(0).normal(0, 0.05, (4, 40))
NOISE -= NOISE.mean(1, keepdims=True)
RANDOM, WEAK, GOOD, RIVAL = (list(mean + noise) for mean, noise in zip((0.1, 0.105, 0.5, 0.503), NOISE, strict=True))


def test_the_best_what_it_beats_and_what_cannot_be_told(make_audit: Make) -> None:
    verdict = summarise(make_audit({"comp": {"shap": GOOD, "lime": RIVAL, "att": WEAK, "random": RANDOM}})).verdict
    assert verdict[0].startswith("On 40 documents of reviews:test, lime does best by comp, 0.5")
    assert verdict[0].endswith("better than att and random (corrected p < 0.001).")
    assert verdict[1].startswith("By comp, cannot tell lime from shap (corrected p = ")
    assert verdict[1].endswith("documents would be needed).")
    assert verdict[2].startswith("Not better than random: att by comp (0.1")
    assert len(verdict) == 3


def test_lower_is_better_is_said(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    metric = make_metric("flip", greater_is_better=False)
    verdict = summarise(make_audit({"flip": {"good": RANDOM, "bad": GOOD}}, metrics=(metric,))).verdict
    assert "good does best by flip" in verdict[0]
    assert "where lower is better: better than bad" in verdict[0]


def test_all_better_than_random(make_audit: Make) -> None:
    verdict = summarise(make_audit({"comp": {"shap": GOOD, "random": RANDOM}})).verdict
    assert verdict[1:] == ("All methods are better than random by every metric, in 1 comparison.",)


def test_other_metrics_that_disagree_are_named_with_their_numbers(make_audit: Make) -> None:
    values = {
        "comp": {"shap": GOOD, "lime": WEAK},
        "suff": {"shap": WEAK, "lime": GOOD},
        "aopc": {"shap": GOOD, "lime": RIVAL},
    }
    verdict = summarise(make_audit(values)).verdict
    rival, best = np.mean(GOOD), np.mean(WEAK)
    assert verdict[1] == (
        "By 1 of 2 other metrics shap is best too, or cannot be told from the best; it is not by suff "
        f"(lime {rival:.3f}, shap {best:.3f})."
    )


def test_metrics_that_do_not_see_the_order_are_named(make_audit: Make) -> None:
    values = {"comp": {"shap": GOOD, "lime": WEAK}, "suff": {"shap": GOOD, "lime": RIVAL}}
    turned = {"comp": {"shap": RANDOM, "lime": GOOD}, "suff": {"shap": RIVAL, "lime": RIVAL}}
    verdict = summarise(make_audit(values, turned)).verdict
    assert verdict[-1] == (
        "Cannot tell any method from its own order reversed by suff; worse than in reversed order: "
        f"lime by comp ({np.mean(WEAK):.3f} against {np.mean(GOOD):.3f})."
    )


@pytest.mark.parametrize(
    ("values", "start"),
    [({"shap": GOOD, "lime": RANDOM}, "stays shap under"), ({"shap": WEAK, "lime": GOOD}, "depends")],
)
def test_removal_sensitivity_is_told(
    make_audit: Make, make_metric: Callable[..., AuditedMetric], values: dict[str, list[float]], start: str
) -> None:
    metrics = tuple(make_metric(eraser, spec={"name": "comp", "eraser": eraser}) for eraser in ("pad", "delete"))
    audit = make_audit({"pad": {"shap": GOOD, "lime": RANDOM}, "delete": values}, metrics=metrics)
    assert summarise(audit).verdict[-1].startswith(f"The best by comp {start}")


def test_the_verdict_is_never_longer_than_six_sentences(
    make_audit: Make, make_metric: Callable[..., AuditedMetric]
) -> None:
    metrics = tuple(make_metric(eraser, spec={"name": "comp", "eraser": eraser}) for eraser in ("pad", "delete"))
    by = {"shap": GOOD, "lime": RIVAL, "att": WEAK, "random": RANDOM}
    verdict = summarise(make_audit({"pad": by, "delete": by}, {"pad": by, "delete": by}, metrics=metrics)).verdict
    assert len(verdict) == 6


@pytest.mark.parametrize("values", [{}, {"comp": {"lime": [math.nan, math.nan]}}])
def test_nothing_measured(make_audit: Make, values: dict[str, dict[str, list[float]]]) -> None:
    assert summarise(make_audit(values)).verdict[0].startswith("Nothing could be measured on")


def test_one_method_has_nothing_to_be_compared_with(make_audit: Make) -> None:
    (verdict,) = summarise(make_audit({"comp": {"lime": GOOD}})).verdict
    assert verdict.endswith(", with nothing to compare it with.")
