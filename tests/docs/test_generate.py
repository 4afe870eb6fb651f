"""Measured parts of the pages come from the results that are there, and are no trouble when there are none."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from veridical.core.component import option, required

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "generate.py"
MADE = {
    "versions": {"veridical": "0.1.0", "captum": "0.9.0"},
    "machine": {"processor": "x86_64", "threads": 2},
    "time": "2030-01-01",
}


@pytest.fixture
def generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, looking for results and figures in an empty folder."""
    spec = importlib.util.spec_from_file_location("generate", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "FIGURES", tmp_path)
    return module


def test_without_results(generate: ModuleType) -> None:
    for part in ("bench-accuracy", "bench-explainers", "bench-scaling", "bench-audit"):
        assert generate.PARTS[part]() == "*Not measured yet: `make bench` does it.*"


def test_audit_ratios(generate: ModuleType, tmp_path: Path) -> None:
    rows = [{"name": "ferret evaluate / audit", "ratio": 6.5, "detail": "65.0 s against 10.0 s", "facts": {"x": 1}}]
    (tmp_path / "audit.json").write_text(json.dumps({"rows": rows, **MADE}))
    assert "| `ferret evaluate / audit` | 6.50 | 65.0 s against 10.0 s |" in generate.PARTS["bench-audit"]()


def test_metrics_tell_options_of_their_base_and_presets(generate: ModuleType) -> None:
    shown = generate.PARTS["metrics-in-detail"]()
    section = shown.partition("### sufficiency\n")[2].partition("\n### ")[0]
    assert "- Direction: higher is better, by default" in section
    assert "The mean over rationales of several sizes" in section  # the docstring of the class it is made of
    assert "| `ratios` | `[0.01, 0.05, 0.1, 0.2, 0.5]` | a list of: a number, more than 0 and at most 1" in section
    assert "| `positive` | `false` | true or false | Let only words with positive scores into a rationale. |" in section
    assert "- `sufficiency(preset=regex)`: the defaults" in section
    assert "- `sufficiency(preset=eraser)`: `form=difference`" in section


def test_ratios_and_their_figure(generate: ModuleType, tmp_path: Path) -> None:
    rows = [
        {"name": "equal accuracy: captum", "ratio": 12.345, "detail": "at its budgets 100: 12"},
        {"name": "equal accuracy: other", "ratio": None, "detail": "not measured: it | failed"},
    ]
    (tmp_path / "accuracy.json").write_text(json.dumps({"rows": rows, **MADE}))
    shown = generate.PARTS["bench-accuracy"]()
    assert "| `equal accuracy: captum` | 12.35 | at its budgets 100: 12 |" in shown
    assert "| `equal accuracy: other` | - | not measured: it &#124; failed |" in shown
    assert "Measured on 2030-01-01 with veridical 0.1.0, captum 0.9.0; 2 threads" in shown
    assert "![" not in shown
    (tmp_path / "accuracy-per-query.svg").write_text("<svg/>")
    assert "](figures/accuracy-per-query.svg)" in generate.PARTS["bench-accuracy"]()


def test_growth(generate: ModuleType, tmp_path: Path) -> None:
    points = {
        size: [
            {"method": method, "settings": f"{method}(x=1)", size: number, "seconds per document": number / 1000}
            for number in numbers
            for method in ("occlusion", "lime")
        ]
        for size, numbers in {"words": (10, 400), "documents": (10, 1000)}.items()
    }
    (tmp_path / "scaling.json").write_text(json.dumps({"rows": [], **points, **MADE}))
    shown = generate.PARTS["bench-scaling"]()
    assert "| seconds per document | 10 words | 400 words |" in shown
    assert "| `lime` | 0.01 | 0.4 |" in shown
    assert "| seconds per document | 10 documents | 1,000 documents |" in shown


def test_what_options_of_metrics_can_name_is_told(generate: ModuleType) -> None:
    shown = generate.PARTS["metric-tools"]()
    assert [line for line in shown.splitlines() if line.startswith("### ")] == [
        "### finder=spacy",
        "### finder=rules",
        "### lists=library",
        "### lists=short",
        "### tagger=spacy",
    ]
    assert "| `confidence` | `0.7` | a number, 0 or more and at most 1 |" in shown
    assert "No options." in shown


def test_saliences_have_a_table_and_their_options(generate: ModuleType) -> None:
    shown = generate.PARTS["saliences"]()
    assert "| `uniform` |" in shown
    assert "### textrank" in shown
    assert "| `words` | `all` |" in shown.partition("### uniform")[2]
    assert "- `textrank(preset=saloss-code)`: `window=8`" in shown


def test_the_schema_is_json(generate: ModuleType) -> None:
    shown = generate.PARTS["schema-example"]()
    told = json.loads(shown.removeprefix("```json\n").removesuffix("\n```"))
    assert told["title"] == "decision-flip"
    assert told["properties"]["step"]["maximum"] == 1


def test_required_options_and_none_are_words(generate: ModuleType) -> None:
    @dataclass(frozen=True)
    class Asking:
        name: str = required("Who asks.")
        often: int | None = option(None, "How often.")

    shown = generate.options(Asking)
    assert "| `name` | required | a text | Who asks. |" in shown
    assert "| `often` | `none` | a whole number or none | How often. |" in shown


def test_a_page_is_filled_between_its_marks(generate: ModuleType) -> None:
    page = "before\n<!-- generated: models -->\nstale\n<!-- /generated -->\nafter\n"
    made = generate.filled(page)
    assert made.startswith("before\n<!-- generated: models -->\n\n| name | what it is |")
    assert made.endswith("\n\n<!-- /generated -->\nafter\n")
    assert "stale" not in made
    assert generate.filled(made) == made


def test_every_part_that_a_page_asks_for_exists(generate: ModuleType) -> None:
    asked = {
        name for page in generate.pages() for name in re.findall(r"<!-- generated: ([\w-]+) -->", page.read_text())
    }
    assert asked <= set(generate.PARTS)
    assert {"metrics-in-detail", "metric-tools", "schema-example", "saliences"} <= asked
