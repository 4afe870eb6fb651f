"""What there is, as rows, without loading a model library: for `veridical list` and for completion in a shell.

`inventory.py` makes the rows from the registries, for which it has to load all components and torch with them. So the
rows of everything built in are stored beside this file; `python docs/generate.py` writes them, and a test compares.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from veridical.core.component import Option, options_of, unknown
from veridical.data import DATASETS
from veridical.data import catalogue as data_sets
from veridical.data.columns import Columns

InventoryRow = dict[str, Any]
"""One thing by columns. All are texts but `options`, a list of what `option_rows` gives, and `presets`, a mapping."""

TABLES = ("explainers", "metrics", "metric-sets", "data", "models", "erasers", "objectives", "saliences")
"""The tables in the order in which they are listed."""

STORED = Path(__file__).with_suffix(".json")
"""The rows of everything built in but data sets, which need no torch: tables by name."""


def rows(table: str) -> list[InventoryRow]:
    """The rows of a table. Those of plug-ins and of whatever was registered are made anew, with all others."""
    if table == "data":
        return data()
    if _is_all_built_in():
        return _stored()[table]
    from veridical.run import inventory

    return inventory.TABLES[table]()


def find_row(table: str, rows: Sequence[InventoryRow], name: str) -> InventoryRow:
    """The row of that name in a table, or an error with the nearest name."""
    known = {row["name"]: row for row in rows}
    if name not in known:
        raise unknown(table.removesuffix("s").replace("-", " "), name, known)
    return known[name]


def data() -> list[InventoryRow]:
    """Every data set that can be named; those of the directory `VERIDICAL_DATA` have the options of files."""
    named = dict(DATASETS)
    return [
        {
            "name": entry.name,
            "what it is": entry.description,
            "task": entry.task,
            "splits": ", ".join(entry.splits),
            "where": entry.where,
            **details(named.get(entry.name, Columns)),
        }
        for entry in data_sets()
    ]


def details(cls: type) -> InventoryRow:
    """What is shown of one thing alone: the rest of its docstring, its options and its presets."""
    return {
        "more": _unwrapped(inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[2]),
        "options": option_rows(cls),
        "presets": {name: dict(chosen) for name, chosen in getattr(cls, "presets", {}).items()},
    }


def option_rows(cls: type) -> list[dict[str, Any]]:
    """Each option of a component class: its name, default, what it takes and its sentence; no default if required."""
    return [_option(each) for each in options_of(cls).values()]


def written_default(option: Mapping[str, Any]) -> str:
    """The default of an option in words, as it is written on a command line."""
    return written_value(option["default"]) if "default" in option else "required"


def written_value(value: Any) -> str:
    """The value of an option as it is written on a command line."""
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)


def _is_all_built_in() -> bool:
    """Whether nobody has added a component: no package, and no code that runs here."""
    return "torch" not in sys.modules and not any(group.startswith("veridical.") for group in entry_points().groups)


@cache
def _stored() -> dict[str, list[InventoryRow]]:
    found: dict[str, list[InventoryRow]] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def _option(option: Option) -> dict[str, Any]:
    default = {} if option.is_required else {"default": option.schema["default"]}
    return {"name": option.name, **default, "takes": option.takes, "help": option.help}


def _unwrapped(text: str) -> str:
    """A docstring with each paragraph and each item of a list on one line; indented code stays as it is."""
    return re.sub(r"(?<!\n)\n(?!\n|- | {4})\s*", " ", text)
