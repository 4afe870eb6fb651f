"""Veridical: why did a text classifier say that, can the reason be trusted, how do we make it more trustworthy?

>>> from veridical import Classifier, explain
>>> classifier = Classifier.load("runs/base")
>>> explain(classifier, ["A gorgeous, witty, seductive movie."], method="occlusion")[0]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veridical.audits.job import audit
    from veridical.core.example import Example, Image, Unit
    from veridical.core.explanation import Explanation
    from veridical.core.files import read_all as read
    from veridical.data import load as load_data
    from veridical.masking import Case, Engine
    from veridical.models import Classifier
    from veridical.run.check import check
    from veridical.run.explain import explain
    from veridical.run.predict import predict
    from veridical.run.train import train

_HOMES = {
    "Case": "veridical.masking",
    "Classifier": "veridical.models",
    "Engine": "veridical.masking",
    "Example": "veridical.core.example",
    "Explanation": "veridical.core.explanation",
    "Image": "veridical.core.example",
    "Unit": "veridical.core.example",
    "audit": "veridical.audits.job",
    "check": "veridical.run.check",
    "explain": "veridical.run.explain",
    "load_data": "veridical.data:load",
    "predict": "veridical.run.predict",
    "read": "veridical.core.files:read_all",
    "train": "veridical.run.train",
}

__all__ = [
    "Case",
    "Classifier",
    "Engine",
    "Example",
    "Explanation",
    "Image",
    "Unit",
    "audit",
    "check",
    "explain",
    "load_data",
    "predict",
    "read",
    "train",
]


def __getattr__(name: str) -> Any:
    # Looked up on first use: reading a file or printing help must not wait for torch.
    if name not in _HOMES:
        raise AttributeError(f"module 'veridical' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
