"""A model as jobs hold it: described once, and with what it takes to load it again elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from veridical.core.component import options_of
from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.core.folders import MADE_FOR
from veridical.core.syntax import Term
from veridical.data import whole
from veridical.explainers import EXPLAINERS, Explainer
from veridical.masking import Engine
from veridical.models import Classifier
from veridical.models.classifier import Origin
from veridical.models.weights import Learned, check_made_for


@dataclass(frozen=True)
class ModelHandle:
    """A classifier and its description, which has the fingerprint of its weights.

    The fingerprint reads every weight, so it is taken once, when a job first asks for it. It is that of the moment: a
    model that is trained further needs a new handle. A handle that is pickled does not carry the weights: whoever
    receives it loads the model again, from the same place and with the same settings.
    """

    classifier: Classifier

    @classmethod
    def of(cls, model: Model) -> ModelHandle:
        """The handle of a classifier, or of what `Classifier.load` can load; a handle stays as it is."""
        return model if isinstance(model, ModelHandle) else cls(Classifier.load(model))

    @cached_property
    def description(self) -> Mapping[str, Any]:
        """What a spec says of the model."""
        return self.classifier.describe()

    @property
    def fingerprint(self) -> str:
        """What tells this model from others: the hash of its weights, or the name of a function."""
        return str(self.description.get("fingerprint", self.description.get("name")))

    def again(self) -> Classifier:
        """Load the same model once more, as another process or another machine would."""
        origin = self._origin()
        return Classifier.load(origin.source, **origin.settings)

    def require(self, explainer: Explainer) -> None:
        """Refuse an explainer that needs what the model does not give, or that was trained with another model."""
        name = EXPLAINERS.name_of(explainer)
        self.classifier.require(*explainer.needs, asker=name)
        is_bound = getattr(explainer, MADE_FOR, None) is not None and not getattr(explainer, "any_model", False)
        # The fingerprint takes time, and few ask for it. A student that is a model, too, explains itself.
        if is_bound and getattr(explainer, "fingerprint", None) != self.fingerprint:
            folder = str(getattr(explainer, "folder", name))
            insist = f" Or insist: {Term(folder, {'any_model': True})}; its scores are about the other model."
            check_made_for(explainer, folder, self.fingerprint, insist if hasattr(explainer, "any_model") else "")

    def explanation_spec(
        self, explainer: Explainer, target: str, engine: Engine, data: str | None = None
    ) -> dict[str, Any]:
        """Everything that two numbers must share to be comparable.

        Of the data it is the split: explanations of two parts of a split can stand side by side.
        """
        # Most methods give signed scores, and their specs stay as they are. A plug-in may say nothing of it.
        given = getattr(explainer, "gives", "signed")
        scores = {} if given == "signed" else {"scores": given}
        return {
            "method": EXPLAINERS.spec(explainer),
            "target": target,
            **scores,
            "special_tokens": "kept, never scored",
            "precision": engine.precision,
            "model": dict(self.description),
            "data": None if data is None else whole(data),
            "versions": versions(),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        origin = self._origin()
        return _received, (origin.source, dict(origin.settings), self.fingerprint)

    def _origin(self) -> Origin:
        if self.classifier.origin is None:
            raise UsageError(
                "this model was made in Python and cannot be loaded again",
                remedy="Save it, and load it from its folder.",
            )
        return self.classifier.origin


def with_model(classifier: Classifier, explainer: Explainer) -> Explainer:
    """The explainer itself, or for a learned one that was only named, the one that was trained with the model."""
    if not (isinstance(explainer, Learned) and explainer.learned_by and explainer.is_new):
        return explainer
    name = EXPLAINERS.name_of(explainer)
    if name not in classifier.learned:
        own = ", ".join(classifier.learned) or "none"
        raise UnsupportedError(
            f"{name} has to be learned for a model, and this model has none of that name (it has: {own})",
            remedy=f"Make one: `{explainer.learned_by.format(name=name)}`; other methods need no training.",
        )
    found = EXPLAINERS.load(classifier.learned[name], _adjusted(name, explainer))
    object.__setattr__(found, "folder", name)  # with this model, its name is where it is found
    return found


def _adjusted(name: str, explainer: Explainer) -> dict[str, Any]:
    """The options that were given with a name; those that say how a network is built were settled in training."""
    known, free = options_of(type(explainer)), getattr(explainer, "adjustable", ())
    given = {key: getattr(explainer, key) for key, each in known.items() if getattr(explainer, key) != each.default}
    if settled := [key for key in given if key not in free]:
        raise UsageError(
            f"{name} has its option {settled[0]!r} already: it was trained with it",
            remedy=f"Only these can be given: {', '.join(free)}." if free else f"Name it without options: {name}.",
        )
    return given


Model = Classifier | ModelHandle | str | os.PathLike[str]
"""What a job takes as a model: one that is loaded, or a folder or hub id to load it from."""


def versions() -> dict[str, str]:
    """The versions of what computes scores."""
    return {package: _version(package) for package in ("veridical", "torch", "transformers")}


def _received(source: str, settings: Mapping[str, Any], fingerprint: str) -> ModelHandle:
    """Load the model of a handle that was sent here; another one in the same place would give other numbers."""
    handle = ModelHandle(Classifier.load(source, **settings))
    if handle.fingerprint != fingerprint:
        raise ModelError(
            f"{source} holds another model than the job was made for: its hash is {handle.fingerprint}, "
            f"not {fingerprint}",
            remedy="Save the model that is meant, and load it from its folder.",
        )
    return handle


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
