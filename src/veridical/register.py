"""Give a component of your own a name, from a notebook or any other code, without packaging it.

>>> from veridical import register
>>> @register.explainer("my-method")
... @dataclass(frozen=True)
... class MyMethod(Explainer):
...     ...
>>> explain(classifier, texts, method="my-method")

The name holds for as long as Python runs. Packages announce their components as entry points instead, see the guide to
plug-ins. A class may be registered again, as a notebook does when a cell is run twice; a name that another class has is
refused. Importing this module loads no model library: each function does so when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

__all__ = ["data", "eraser", "explainer", "metric", "objective", "salience"]


def explainer(name: str) -> Callable[[C], C]:
    """Name a method that scores units: it has `needs`, `passes` and `scores`."""
    from veridical.explainers import EXPLAINERS

    return EXPLAINERS.register(name)


def metric(name: str) -> Callable[[C], C]:
    """Name a metric that judges scores: it has `needs`, `meaning`, `greater_is_better`, and is called with a case."""
    from veridical.metrics import METRICS

    return METRICS.register(name)


def objective(name: str) -> Callable[[C], C]:
    """Name a training loss: it has `needs`, and is called with a case."""
    from veridical.objectives import OBJECTIVES

    return OBJECTIVES.register(name)


def eraser(name: str) -> Callable[[C], C]:
    """Name a way to take words away: it has `needs`, and is called with a classifier, rows and what to keep."""
    from veridical.masking import ERASERS

    return ERASERS.register(name)


def salience(name: str) -> Callable[[C], C]:
    """Name a way to say how important word pieces are before any model is asked: it has `fitted`."""
    from veridical.objectives.salience import SALIENCES

    return SALIENCES.register(name)


def data(name: str) -> Callable[[C], C]:
    """Name a source of examples: it has `load`."""
    from veridical.data import DATASETS

    return DATASETS.register(name)
