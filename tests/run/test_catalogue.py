"""What is stored of built-in components is what the registries say, and is read without a model library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from veridical.run import catalogue, inventory

HEAVY = {"torch", "transformers", "scipy", "pyarrow", "sklearn", "accelerate"}


def loaded_by(code: str) -> set[str]:
    """The heavy packages that a new Python has loaded after some code."""
    told = f"import json, sys\n{code}\nprint(json.dumps([each for each in {sorted(HEAVY)} if each in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"}, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_tables_are_those_of_the_inventory() -> None:
    assert list(inventory.TABLES) == list(catalogue.TABLES)


@pytest.mark.parametrize("table", [each for each in catalogue.TABLES if each != "data"])
def test_what_is_stored_is_what_the_registries_say(table: str) -> None:
    stored = json.loads(catalogue.STORED.read_text(encoding="utf-8"))
    assert stored[table] == json.loads(json.dumps(inventory.TABLES[table]())), "Run: python docs/generate.py"


@pytest.mark.parametrize("table", catalogue.TABLES)
def test_reading_a_table_loads_no_model_library(table: str) -> None:
    code = f"from veridical.run.catalogue import rows\nassert len(rows({table!r})) > 1"
    assert loaded_by(code) == set()


def test_a_plug_in_makes_the_rows_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = EntryPoints([EntryPoint("theirs", "somewhere:Theirs", "veridical.explainers")])
    monkeypatch.setattr(catalogue, "entry_points", lambda: theirs)
    monkeypatch.setattr(inventory, "TABLES", {"explainers": lambda: [{"name": "theirs"}]})
    monkeypatch.delitem(sys.modules, "torch")
    assert catalogue.rows("explainers") == [{"name": "theirs"}]
