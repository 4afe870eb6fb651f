"""What an objective leaves behind: explainers that were trained with a model, saved below it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from veridical.core.errors import UsageError
from veridical.explainers import EXPLAINERS
from veridical.models.classifier import EXPLAINERS_FOLDER, learned_with
from veridical.models.learned import Learned
from veridical.models.transformer import Transformer
from veridical.objectives import Objective
from veridical.objectives.base import explainers_of


def save_trained(classifier: Transformer, objective: Objective, folder: str | PathLike[str]) -> None:
    """Save a model that was just trained, with the explainers that its objective leaves: `Classifier.load` finds all.

    From then on these explainers work with this model only.
    """
    classifier.learned = {}  # explainers of the model that it was before
    classifier.save(folder)
    left = explainers_of(objective)
    together = classifier.fingerprint_with(
        {name: each.fingerprint for name, each in left.items() if isinstance(each, Learned)}
    )
    for name, explainer in left.items():
        if isinstance(explainer, Learned):
            explainer.bind_to(together)
        EXPLAINERS.save(explainer, Path(folder) / EXPLAINERS_FOLDER / name)
    classifier.learned = learned_with(folder)


def check_explainers(objective: Objective) -> None:
    """Refuse an objective whose explainers could not be saved, before anything is trained."""
    for name, explainer in explainers_of(objective).items():
        if EXPLAINERS.name_of(EXPLAINERS.create(explainer)) not in EXPLAINERS:
            raise UsageError(
                f"the explainer {name!r} that {type(objective).__name__} leaves could not be saved: its class "
                f"{type(explainer).__name__} has no name",
                remedy='Put @register.explainer("...") on the class.',
            )
