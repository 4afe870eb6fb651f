"""A model as jobs hold it: described once, and with what it takes to load it again elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from veridical.core.errors import UsageError
from veridical.data import whole
from veridical.explainers import EXPLAINERS, Explainer
from veridical.masking import Engine
from veridical.models import Classifier


@dataclass(frozen=True)
class ModelHandle:
    """A classifier and its description, which has the fingerprint of its weights.

    The fingerprint reads every weight, so a job takes it once and hands the handle on. It is that of the moment: a
    model that is trained further needs a new handle.
    """

    classifier: Classifier
    description: Mapping[str, Any]

    @classmethod
    def of(cls, model: Classifier | ModelHandle | str | os.PathLike[str]) -> ModelHandle:
        """The handle of a classifier, or of what `Classifier.load` can load; a handle stays as it is."""
        if isinstance(model, ModelHandle):
            return model
        classifier = Classifier.load(model)
        return cls(classifier, classifier.describe())

    @property
    def fingerprint(self) -> str:
        """What tells this model from others: the hash of its weights, or the name of a function."""
        return str(self.description.get("fingerprint", self.description.get("name")))

    def again(self) -> Classifier:
        """Load the same model once more, as another process or another machine would."""
        origin = self.classifier.origin
        if origin is None:
            raise UsageError(
                "this model was made in Python and cannot be loaded again",
                remedy="Save it, and load it from its folder.",
            )
        return Classifier.load(origin.source, **origin.settings)

    def explanation_spec(
        self, explainer: Explainer, target: str, engine: Engine, data: str | None = None
    ) -> dict[str, Any]:
        """Everything that two numbers must share to be comparable.

        Of the data it is the split: explanations of two parts of a split can stand side by side.
        """
        return {
            "method": EXPLAINERS.spec(explainer),
            "target": target,
            "special_tokens": "kept, never scored",
            "precision": engine.precision,
            "model": dict(self.description),
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
