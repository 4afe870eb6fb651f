"""What is listed comes from the registries, and says what helps to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from veridical.audits.plan import metrics_of
from veridical.metrics import METRICS
from veridical.metrics.sets import PRESETS
from veridical.run import inventory


@pytest.fixture(scope="module")
def metrics() -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in inventory.metrics()}


def test_every_metric_is_listed_with_all_columns(metrics: dict[str, dict[str, str]]) -> None:
    assert list(metrics) == list(METRICS)
    for row in metrics.values():
        assert all(row.values())
        assert row["direction"].startswith(("higher", "lower"))


def test_a_direction_that_depends_on_options_is_that_of_the_defaults(metrics: dict[str, dict[str, str]]) -> None:
    assert metrics["decision-flip"]["direction"] == "lower is better"
    assert metrics["comprehensiveness"]["direction"] == "higher is better"
    assert metrics["sufficiency"]["direction"] == "higher is better, by default"


def test_needs_and_comparability(metrics: dict[str, dict[str, str]]) -> None:
    assert metrics["rationale-auc"]["needs"] == "evidence"
    assert metrics["stability"]["needs"] == "words"
    assert metrics["normalised-aopc"]["needs"] == "any model"
    assert metrics["normalised-aopc"]["compares models"] == "yes"
    assert metrics["aopc"]["compares models"] == "no"
    assert metrics["aopc"]["printed"] == "times 100"


def test_every_set_is_listed_and_what_it_lists_can_be_asked_for() -> None:
    rows = {row["name"]: row for row in inventory.metric_sets()}
    assert list(rows) == list(PRESETS)
    for name, row in rows.items():
        assert metrics_of(row["metrics"]) == metrics_of(name)


def test_a_metric_that_cannot_be_made_without_options_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Demanding:
        """It asks for a number."""

        number: int
        needs: ClassVar[frozenset[str]] = frozenset({"hearing"})
        meaning: ClassVar[str] = "m"
        weakness: ClassVar[str] = "w"
        percent: ClassVar[bool] = False
        comparable: ClassVar[bool] = False

        @property
        def greater_is_better(self) -> bool:
            return self.number > 0

    monkeypatch.setattr(inventory, "METRICS", {"demanding": Demanding})
    (row,) = inventory.metrics()
    assert row["direction"] == "depends on the options"
    assert row["needs"] == "hearing"
