"""What is listed comes from the registries, and says what helps to choose."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from veridical.audits.plan import metrics_of
from veridical.core.component import option, options_of, required
from veridical.core.errors import InputError, UsageError
from veridical.core.registry import Registry
from veridical.core.syntax import parse_one
from veridical.data import DATASETS
from veridical.explainers import EXPLAINERS, Lime
from veridical.masking import ERASERS
from veridical.metrics import METRICS
from veridical.metrics.sets import SETS
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES
from veridical.run import catalogue, inventory

REGISTRIES: dict[str, Registry[Any]] = {
    "explainers": EXPLAINERS,
    "metrics": METRICS,
    "data": DATASETS,
    "erasers": ERASERS,
    "objectives": OBJECTIVES,
    "saliences": SALIENCES,
}


@pytest.fixture(scope="module")
def metrics() -> dict[str, catalogue.InventoryRow]:
    return {row["name"]: row for row in inventory.metrics()}


def test_every_metric_is_listed_with_all_columns(metrics: dict[str, catalogue.InventoryRow]) -> None:
    assert list(metrics) == list(METRICS)
    for row in metrics.values():
        assert all(value for column, value in row.items() if column not in ("more", "options", "presets"))
        assert row["direction"].startswith(("higher", "lower", "neither"))
    assert [name for name, row in metrics.items() if row["direction"].startswith("neither")] == ["pos-importance"]


def test_a_direction_that_depends_on_options_is_that_of_the_defaults(
    metrics: dict[str, catalogue.InventoryRow],
) -> None:
    assert metrics["decision-flip"]["direction"] == "lower is better"
    assert metrics["comprehensiveness"]["direction"] == "higher is better"
    assert metrics["sufficiency"]["direction"] == "higher is better, by default"


def test_needs_and_comparability(metrics: dict[str, catalogue.InventoryRow]) -> None:
    assert metrics["rationale-auc"]["needs"] == "evidence"
    assert metrics["stability"]["needs"] == "words"
    assert metrics["normalised-aopc"]["needs"] == "any model"
    assert metrics["normalised-aopc"]["compares models"] == "yes"
    assert metrics["aopc"]["compares models"] == "no"
    assert metrics["aopc"]["printed"] == "times 100"


def test_every_set_is_listed_and_what_it_lists_can_be_asked_for() -> None:
    rows = {row["name"]: row for row in inventory.metric_sets()}
    assert list(rows) == list(SETS)
    assert all(row["what it is"].endswith(".") for row in rows.values())
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
        describes: ClassVar[bool] = False

        @property
        def greater_is_better(self) -> bool:
            return self.number > 0

    monkeypatch.setattr(inventory, "METRICS", {"demanding": Demanding})
    (row,) = inventory.metrics()
    assert row["direction"] == "depends on the options"
    assert row["needs"] == "hearing"


@pytest.mark.parametrize("table", REGISTRIES)
def test_every_component_tells_its_options_and_presets(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIDICAL_DATA", raising=False)
    rows = {row["name"]: row for row in inventory.TABLES[table]()}
    assert list(rows) == list(REGISTRIES[table])
    for name, row in rows.items():
        cls = REGISTRIES[table][name]
        assert [each["name"] for each in row["options"]] == list(options_of(cls))
        assert list(row["presets"]) == list(getattr(cls, "presets", {}))
        assert row["more"] in " ".join((cls.__doc__ or "").split()) or "\n" in row["more"]


@pytest.mark.parametrize("table", inventory.TABLES)
def test_rows_are_data(table: str) -> None:
    rows = inventory.TABLES[table]()
    assert [row["name"] for row in json.loads(json.dumps(rows))] == [row["name"] for row in rows]


@pytest.mark.parametrize("table", ["explainers", "metrics", "erasers", "saliences"])
def test_defaults_are_written_as_they_are_read(table: str) -> None:
    registry = REGISTRIES[table]
    for row in inventory.TABLES[table]():
        written = ", ".join(f"{each['name']}={catalogue.written_default(each)}" for each in row["options"])
        assert registry.create(f"{row['name']}({written})") == registry.create(row["name"])


@pytest.mark.parametrize(
    ("value", "written"),
    [("mask", "mask"), (None, "none"), (False, "false"), (1e-06, "1e-06"), ([0.1, 1], "[0.1, 1]"), ((2,), "[2]")],
)
def test_values_are_written_as_on_a_command_line(value: object, written: str) -> None:
    assert catalogue.written_value(value) == written


def test_an_option_without_default_is_required() -> None:
    @dataclass(frozen=True)
    class Asking:
        name: str = required("Who asks.")
        often: int | None = option(None, "How often.")

    first, second = catalogue.option_rows(Asking)
    assert first == {"name": "name", "takes": "a text", "help": "Who asks."}
    assert catalogue.written_default(first) == "required"
    assert second == {"name": "often", "default": None, "takes": "a whole number or none", "help": "How often."}
    assert catalogue.written_default(second) == "none"


def test_the_rest_of_a_docstring_is_a_line_per_paragraph_and_per_item() -> None:
    row = catalogue.find_row("data", inventory.data(), "planted")
    lines = row["more"].splitlines()
    assert "- `keyword`: one class word among fillers." in lines
    assert any(line.startswith("- `negation`") and line.endswith("its `not`.") for line in lines)


def test_data_of_the_directory_has_the_options_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weather").mkdir()
    (tmp_path / "weather" / "train.csv").write_text("text,label\nrain,bad\n")
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path))
    row = catalogue.find_row("data", inventory.data(), "weather")
    assert [each["name"] for each in row["options"]][:2] == ["text", "text_pair"]


@pytest.mark.parametrize(
    ("table", "name", "problem"),
    [
        ("explainers", "limee", "unknown explainer 'limee'. Did you mean 'lime'"),
        ("metric-sets", "default2", "unknown metric set 'default2'. Did you mean 'default'"),
        ("data", "plantd", "unknown data 'plantd'. Did you mean 'planted'"),
    ],
)
def test_a_name_that_is_not_in_the_table(table: str, name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        catalogue.find_row(table, inventory.TABLES[table](), name)


def test_explainers_that_a_model_has_learned(tmp_path: Path) -> None:
    EXPLAINERS.save(Lime(samples=50), tmp_path / "explainers" / "quick")
    EXPLAINERS.save(Lime(), tmp_path / "explainers" / "plain")
    (tmp_path / "explainers" / "notes").mkdir()
    rows = {row["name"]: row for row in inventory.learned(tmp_path)}
    assert list(rows) == [str(tmp_path / "explainers" / name) for name in ("plain", "quick")]
    quick = rows[str(tmp_path / "explainers" / "quick")]
    assert quick["settings"] == "lime(samples=50)"
    assert quick["cost"] == Lime.cost
    assert parse_one(rows[str(tmp_path / "explainers" / "plain")]["settings"]).options == {}
    assert EXPLAINERS.create(quick["name"]) == Lime(samples=50)


def test_a_learned_explainer_that_is_damaged_does_not_hide_the_others(tmp_path: Path) -> None:
    EXPLAINERS.save(Lime(samples=50), tmp_path / "explainers" / "a")
    METRICS.save(METRICS.create("aopc"), tmp_path / "explainers" / "b")
    EXPLAINERS.save(Lime(), tmp_path / "explainers" / "c")
    (tmp_path / "explainers" / "c" / "component.json").write_text("{")
    good, metric, cut = inventory.learned(tmp_path)
    assert good["settings"] == "lime(samples=50)"
    assert metric["what it does"].startswith("Cannot be used: ")
    assert "aopc" in metric["what it does"]
    assert cut["what it does"].startswith("Cannot be used: ")


def test_a_model_that_has_learned_nothing_more_and_one_that_is_not_there(tmp_path: Path) -> None:
    assert inventory.learned(tmp_path) == []
    with pytest.raises(InputError, match="there is no folder .*nowhere. Give the folder of a trained model"):
        inventory.learned(tmp_path / "nowhere")
