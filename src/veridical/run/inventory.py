"""What there is, as rows made from the registries: for the tables in the documentation, and for `catalogue.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

from veridical.core.component import first_paragraph, options_of
from veridical.core.errors import InputError, VeridicalError
from veridical.core.model_names import MODELS
from veridical.core.registry import Registry
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.metrics import METRICS
from veridical.metrics.base import About
from veridical.metrics.sets import SETS
from veridical.models.classifier import learned_with
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES
from veridical.run.catalogue import InventoryRow, data, details

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
            **details(cls),
        }
        for name, cls in METRICS.items()
    ]


def metric_sets() -> list[InventoryRow]:
    """Every name that stands for several metrics."""
    return [
        {"name": name, "what it is": each.meaning, "metrics": ", ".join(each.metrics)} for name, each in SETS.items()
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
        **details(cls),
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
    return [{"name": name, "what it does": first_paragraph(cls), **details(cls)} for name, cls in registry.items()]


def _direction(cls: Any) -> str:
    """Which way is better; where the options decide, what they say when nothing is chosen."""
    if cls.describes:
        return "neither is better: it describes"
    owner = next(each for each in cls.__mro__ if "greater_is_better" in vars(each))
    by_options = isinstance(vars(owner)["greater_is_better"], property) and owner is not About
    if by_options and any(option.is_required for option in options_of(cls).values()):
        return "depends on the options"
    greater = cls().greater_is_better if by_options or owner is not About else True
    return f"{'higher' if greater else 'lower'} is better{', by default' * by_options}"
