"""What there is, as rows: for `veridical list` and for the tables in the documentation."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import MISSING
from typing import Any

from veridical.core.registry import Registry, options_of
from veridical.data import catalogue
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.models.names import MODELS
from veridical.objectives import OBJECTIVES

Row = dict[str, str]


def explainers() -> list[Row]:
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


def data() -> list[Row]:
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


def models() -> list[Row]:
    """The models that `train` knows by name."""
    rows = [{"name": name, "what it is": text} for name, text in MODELS.items()]
    return [
        *rows,
        {"name": "anything else", "what it is": "a folder or a Hugging Face hub id with safetensors weights"},
    ]


def erasers() -> list[Row]:
    """Every way to take words away."""
    return _plain(ERASERS)


def objectives() -> list[Row]:
    """Every training loss."""
    return _plain(OBJECTIVES)


TABLES: dict[str, Callable[[], list[Row]]] = {
    "explainers": explainers,
    "data": data,
    "models": models,
    "erasers": erasers,
    "objectives": objectives,
}


def _plain(registry: Registry[Any]) -> list[Row]:
    return [
        {"name": name, "what it does": _first_sentence(cls), "options": _options(cls)} for name, cls in registry.items()
    ]


def _first_sentence(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


def _options(cls: type) -> str:
    hints = typing.get_type_hints(cls)
    return ", ".join(f"{name}={_default(option, hints[name])}" for name, option in options_of(cls).items()) or "-"


def _default(option: Any, hint: Any) -> str:
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    default = "..." if option.default is MISSING else str(option.default)
    return "|".join([default, *(str(choice) for choice in choices if str(choice) != default)])
