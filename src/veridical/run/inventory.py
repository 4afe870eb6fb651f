"""What there is, as rows: for `veridical list` and for the tables in the documentation."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from veridical.core.component import Option, options_of
from veridical.core.registry import Registry
from veridical.data import catalogue
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.metrics import METRICS
from veridical.metrics.base import About
from veridical.metrics.sets import PRESETS
from veridical.models.new import MODELS
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES

InventoryRow = dict[str, str]

_NEEDS = {"classes": "a model with classes", "evidence": "evidence", "text": "words"}

_SETS = {
    "default": "What is measured unless something else is asked for; one metric under four erasers.",
    "models": "For comparing models: an AOPC relative to what each model allows, beside the usual ones.",
    "eraser": "As the ERASER benchmark measures: plain differences over five bins, and average precision.",
    "ferret": "As the library ferret measures: ten bins of positive words, and a correlation with leaving out.",
    "saloss": "As SaLoss measures: the share of words until the decision flips.",
    "regex": "As REGEX measures: normalised differences over five bins.",
    "scc": "As SCC measures: the fall without 10 and without 5 words, and the class by 4 words alone.",
    "l2e": "As L2E measures: agreement, log-odds, stability among similar documents, overlap with people.",
    "smat": "As SMaT measures: agreement with people by rankings.",
}


def explainers() -> list[InventoryRow]:
    """Every explainer with what helps to choose it, its options and its presets."""
    return [
        {
            "name": name,
            "what it does": _first_sentence(cls),
            "needs": ", ".join(sorted(cls.needs)) or "any model",
            "cost": cls.cost,
            "a score is": cls.meaning,
            "adds up to": getattr(cls, "total", "") or "-",
            "margins": getattr(cls, "margins", "") or "-",
            "known weakness": cls.weakness,
            "options": _options(cls),
            "presets": ", ".join(getattr(cls, "presets", {})) or "-",
        }
        for name, cls in EXPLAINERS.items()
    ]


def metrics() -> list[InventoryRow]:
    """Every metric with what helps to choose it, its options and its presets."""
    return [
        {
            "name": name,
            "what it is": _first_sentence(cls),
            "needs": ", ".join(_NEEDS.get(need, need) for need in sorted(cls.needs)) or "any model",
            "direction": _direction(cls),
            "printed": "times 100" if cls.percent else "as it is",
            "compares models": "yes" if cls.comparable else "no",
            "a value is": cls.meaning,
            "known weakness": cls.weakness,
            "options": _options(cls),
            "presets": ", ".join(getattr(cls, "presets", {})) or "-",
        }
        for name, cls in METRICS.items()
    ]


def metric_sets() -> list[InventoryRow]:
    """Every name that stands for several metrics."""
    return [{"name": name, "what it is": _SETS[name], "metrics": ", ".join(each)} for name, each in PRESETS.items()]


def data() -> list[InventoryRow]:
    """Every data set that can be named."""
    return [
        {
            "name": entry.name,
            "what it is": entry.description,
            "task": entry.task,
            "splits": ", ".join(entry.splits),
            "where": entry.where,
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


def _plain(registry: Registry[Any]) -> list[InventoryRow]:
    return [
        {"name": name, "what it does": _first_sentence(cls), "options": _options(cls)} for name, cls in registry.items()
    ]


def _first_sentence(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def _direction(cls: Any) -> str:
    """Which way is better; where the options decide, what they say when nothing is chosen."""
    owner = next(each for each in cls.__mro__ if "greater_is_better" in vars(each))
    by_options = isinstance(vars(owner)["greater_is_better"], property) and owner is not About
    if by_options and any(option.is_required for option in options_of(cls).values()):
        return "depends on the options"
    greater = cls().greater_is_better if by_options or owner is not About else True
    return f"{'higher' if greater else 'lower'} is better{', by default' * by_options}"


def _options(cls: type) -> str:
    return ", ".join(f"{name}={_default(option)}" for name, option in options_of(cls).items()) or "-"


def _default(option: Option) -> str:
    choices = typing.get_args(option.hint) if typing.get_origin(option.hint) is typing.Literal else ()
    default = "..." if option.is_required else str(option.default)
    return "|".join([default, *(str(choice) for choice in choices if str(choice) != default)])
