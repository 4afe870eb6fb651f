"""What there is, as rows: for `veridical list` and for the tables in the documentation."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

from veridical.core.component import Option, first_paragraph, options_of, unknown
from veridical.core.errors import InputError, VeridicalError
from veridical.core.registry import Registry
from veridical.data import DATASETS, catalogue
from veridical.data.tables import Columns
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.metrics import METRICS
from veridical.metrics.base import About
from veridical.metrics.sets import SETS
from veridical.models.classifier import learned_with
from veridical.models.new import MODELS
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES

InventoryRow = dict[str, Any]
"""One thing by columns. All are texts but `options`, a list of what `option_rows` gives, and `presets`, a mapping."""

_NEEDS = {"classes": "a model with classes", "text": "words"}


def explainers() -> list[InventoryRow]:
    """Every explainer with what helps to choose it, its options and its presets."""
    return [_explainer(name, cls) for name, cls in EXPLAINERS.items()]


def learned(model: str | PathLike[str]) -> list[InventoryRow]:
    """The explainers that were learned together with a model, which are below its folder.

    The name of each is its folder, which is what `--method` takes. One that cannot be loaded is listed with the reason,
    so that it does not hide the others.
    """
    folder = Path(model).expanduser()
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", remedy="Give the folder of a trained model.")
    return [_learned(each) for each in learned_with(folder).values()]


def metrics() -> list[InventoryRow]:
    """Every metric with what helps to choose it, its options and its presets."""
    return [
        {
            "name": name,
            "what it is": first_paragraph(cls),
            "needs": ", ".join(_NEEDS.get(need, need) for need in sorted(cls.needs)) or "any model",
            "direction": _direction(cls),
            "printed": "times 100" if cls.percent else "as it is",
            "compares models": "yes" if cls.comparable else "no",
            "a value is": cls.meaning,
            "known weakness": cls.weakness,
            **_details(cls),
        }
        for name, cls in METRICS.items()
    ]


def metric_sets() -> list[InventoryRow]:
    """Every name that stands for several metrics."""
    return [
        {"name": name, "what it is": each.meaning, "metrics": ", ".join(each.metrics)} for name, each in SETS.items()
    ]


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
            **_details(named.get(entry.name, Columns)),
        }
        for entry in catalogue()
    ]


def models() -> list[InventoryRow]:
    """The models that `train` knows by name."""
    rows = [{"name": name, "what it is": text} for name, text in MODELS.items()]
    return [
        *rows,
        {"name": "anything else", "what it is": "a folder or a Hugging Face hub id with safetensors weights"},
    ]


def erasers() -> list[InventoryRow]:
    """Every way to take words away."""
    return _plain(ERASERS)


def saliences() -> list[InventoryRow]:
    """Every way to find important word pieces that `saloss` can teach."""
    return _plain(SALIENCES)


def objectives() -> list[InventoryRow]:
    """Every training loss."""
    return _plain(OBJECTIVES)


TABLES: dict[str, Callable[[], list[InventoryRow]]] = {
    "explainers": explainers,
    "metrics": metrics,
    "metric-sets": metric_sets,
    "data": data,
    "models": models,
    "erasers": erasers,
    "objectives": objectives,
    "saliences": saliences,
}


def find_row(table: str, rows: Sequence[InventoryRow], name: str) -> InventoryRow:
    """The row of that name in a table, or an error with the nearest name."""
    known = {row["name"]: row for row in rows}
    if name not in known:
        raise unknown(table.removesuffix("s").replace("-", " "), name, known)
    return known[name]


def option_rows(cls: type) -> list[dict[str, Any]]:
    """Each option of a component class: its name, default, what it takes and its sentence; no default if required."""
    return [_option(each) for each in options_of(cls).values()]


def written_default(option: Mapping[str, Any]) -> str:
    """The default of an option in words, as it is written on a command line."""
    return written_value(option["default"]) if "default" in option else "required"


def written_value(value: Any) -> str:
    """The value of an option as it is written on a command line."""
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)


def _option(option: Option) -> dict[str, Any]:
    default = {} if option.is_required else {"default": option.schema["default"]}
    return {"name": option.name, **default, "takes": option.takes, "help": option.help}


def _explainer(name: str, cls: Any) -> InventoryRow:
    return {
        "name": name,
        "what it does": first_paragraph(cls),
        "needs": ", ".join(sorted(cls.needs)) or "any model",
        "cost": cls.cost,
        "a score is": cls.meaning,
        "adds up to": getattr(cls, "total", "") or "-",
        "margins": getattr(cls, "margins", "") or "-",
        "known weakness": cls.weakness,
        **_details(cls),
    }


def _learned(folder: Path) -> InventoryRow:
    try:
        thing = EXPLAINERS.load(folder)
    except VeridicalError as error:
        return {"name": str(folder), "what it does": f"Cannot be used: {error}"}
    # A copy does not know its folder, so it is written with its name and options.
    settings = EXPLAINERS.written(replace(cast("Any", thing)))
    return {**_explainer(str(folder), type(thing)), "settings": settings}


def _plain(registry: Registry[Any]) -> list[InventoryRow]:
    return [{"name": name, "what it does": first_paragraph(cls), **_details(cls)} for name, cls in registry.items()]


def _details(cls: type) -> InventoryRow:
    """What is shown of one thing alone: the rest of its docstring, its options and its presets."""
    return {
        "more": _unwrapped(inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[2]),
        "options": option_rows(cls),
        "presets": {name: dict(chosen) for name, chosen in getattr(cls, "presets", {}).items()},
    }


def _unwrapped(text: str) -> str:
    """A docstring with each paragraph and each item of a list on one line; indented code stays as it is."""
    return re.sub(r"(?<!\n)\n(?!\n|- | {4})\s*", " ", text)


def _direction(cls: Any) -> str:
    """Which way is better; where the options decide, what they say when nothing is chosen."""
    owner = next(each for each in cls.__mro__ if "greater_is_better" in vars(each))
    by_options = isinstance(vars(owner)["greater_is_better"], property) and owner is not About
    if by_options and any(option.is_required for option in options_of(cls).values()):
        return "depends on the options"
    greater = cls().greater_is_better if by_options or owner is not About else True
    return f"{'higher' if greater else 'lower'} is better{', by default' * by_options}"
