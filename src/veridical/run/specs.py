"""How scores were made, as data: the spec that every explanation carries."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from veridical.data import whole
from veridical.explainers import EXPLAINERS, Explainer
from veridical.masking import Engine
from veridical.models import Classifier


def explanation_spec(
    classifier: Classifier, explainer: Explainer, target: str, engine: Engine, data: str | None = None
) -> dict[str, Any]:
    """Everything that two numbers must share to be comparable; of the data the split, for all parts of it are alike."""
    return {
        "method": EXPLAINERS.spec(explainer),
        "target": target,
        "special_tokens": "kept, never scored",
        "precision": engine.precision,
        "model": classifier.describe(),
        "data": None if data is None else whole(data),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """The versions of what computes scores."""
    return {package: _version(package) for package in ("veridical", "torch", "transformers")}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
