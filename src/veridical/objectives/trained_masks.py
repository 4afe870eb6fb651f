"""Mask layers of finished models: how they read texts through them, as they were tested when they were trained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from veridical.core.component import unknown
from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.folders import TrainRecord, read_record
from veridical.explainers import EXPLAINERS
from veridical.explainers.mask_layers import MaskLayer
from veridical.models import Classifier
from veridical.objectives import OBJECTIVES
from veridical.objectives.base import parts_of
from veridical.objectives.mask_layers import MaskObjective, MaskTraining

_TRAIN = "Train one, as by `veridical train --objective scc`, and name the folder of that run."


def trained_mask(classifier: Classifier, name: str | None = None) -> MaskTraining:
    """The objective that a model was trained by, with its layer; `name` says which layer, if there are several.

    What masks spare and how many words are drawn is no part of a layer: the record of the training says it.
    """
    known = {each.name: each for each in _objectives(classifier)}
    if not known:
        raise UnsupportedError("this model has no mask layer, or does not say how it was trained", remedy=_TRAIN)
    if name is None and len(known) > 1:
        raise UsageError(
            f"this model has several mask layers: {', '.join(known)}", remedy=f"Name one: layer={min(known)}."
        )
    name = name or min(known)
    if name not in known:
        raise unknown("mask layer of this model", name, known)
    return known[name].with_layer(_layer(classifier.learned[name]))


def _objectives(classifier: Classifier) -> Iterator[MaskObjective]:
    """What the layers of a model were trained by, as the records beside them say."""
    for name, folder in classifier.learned.items():
        record = read_record(folder.parent.parent, TrainRecord)
        for part in parts_of(OBJECTIVES.from_spec(record.objective)) if record else ():
            if isinstance(part, MaskObjective) and part.name == name:
                yield part


def _layer(folder: Path) -> MaskLayer:
    layer = EXPLAINERS.load(folder)
    assert isinstance(layer, MaskLayer)
    if layer.normalise and layer.absent is None:
        raise UnsupportedError(
            f"{folder} is of an earlier version, and does not say what stands for a masked word",
            remedy="Train it again.",
        )
    return layer
