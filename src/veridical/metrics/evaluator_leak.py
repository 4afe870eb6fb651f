"""Evaluator leak: does a model read more from selected words than somebody who knows nothing of the selector?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.core.folders import TrainRecord, read_record
from veridical.core.model_names import near_folder
from veridical.masking import ERASERS, Case, EraserName
from veridical.metrics.base import Measured, Metric, Need, known_gold
from veridical.metrics.evidence import marked
from veridical.metrics.selection import Selecting
from veridical.models import Classifier, Task

_TRAIN = (
    'Train one on the same data, as by `veridical train --data DATA --objective "random-erasure(eraser=zero_output)" '
    "--out runs/evaluator`, and name its folder: evaluator-leak(evaluator=runs/evaluator)."
)


@dataclass(frozen=True)
class EvaluatorLeak(Selecting, Metric):
    """What the model reads from the selected words, less what an evaluator that knows no selector reads from them.

    A model that is trained together with its selector can agree with it on signs for the labels. An evaluator that was
    trained on randomly erased texts knows no such signs: it can use what the words say and nothing else (EVAL-X). The
    value of a document is 1 or 0 for a model that is right about the gold label, less the same for the evaluator;
    details are both. Each is asked in the way that it was trained: the evaluator by the eraser that its folder says.
    Undefined without a label.
    """

    evaluator: str | None = option(
        None, "The folder of a model that was trained by `random-erasure`; it must be given."
    )
    reader: str | None = option(
        None, "The folder of another model that reads the words, as that of FRESH; none: the model that is audited."
    )
    eraser: EraserName = option(
        "zero_output",
        "How the other words are erased for who reads: as mask layers do; FRESH is trained with `delete`.",
    )
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ONE_CLASS})
    meaning: ClassVar[str] = (
        "How much more often the model gets the label from the selected words than an evaluator that was trained on "
        "random words; 0 or less is no leak."
    )
    weakness: ClassVar[str] = (
        "No better than its evaluator: one that has learned little makes a leak of what is none. Look at a selection "
        "by chance beside it, random(seed=1), where nothing can leak. A difference below 0 may hide a leak."
    )
    percent: ClassVar[bool] = True
    ranks: ClassVar[bool] = False
    floored: ClassVar[bool] = False
    comparable: ClassVar[bool] = True
    alarm: ClassVar[str] = "The model reads more from the selected words than they say, so the label may leak"
    greater_is_better = False
    presets: ClassVar[Presets] = {"mask": {"words": "above"}, "fresh": {"eraser": "delete"}}

    def questions(self, units: int) -> int:
        return 2

    def questions_once(self, units: int) -> int:
        return 1 + (self.reader is not None)  # the whole text, which each further model is asked about first

    @property
    def models(self) -> dict[str, str]:
        named = {"evaluator": self.evaluator, "reader": self.reader}
        return {name: _fingerprint(*_place(name, folder)) for name, folder in named.items() if folder is not None}

    def require(self, classifier: Classifier) -> None:
        if self.evaluator is None:
            raise UsageError("evaluator-leak has no evaluator", remedy=_TRAIN)
        judge, eraser = self._judge()
        _check_fit("evaluator", self.evaluator, judge, classifier)
        judge.require(ERASERS.create(eraser).needs, asker=f"erasing by {eraser!r}")
        if self.reader is not None:
            _check_fit("reader", self.reader, _load(*_place("reader", self.reader)), classifier)

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        self.require(case.classifier)
        keep = self.selected(scores, case.live)  # [B, U]
        judge, eraser = self._judge()
        reads = case if self.reader is None else case.seen_by(_load(*_place("reader", self.reader)))
        read = _right(reads, _kept(reads, case, keep), self.eraser)
        judged = _right(case.seen_by(judge), _kept(case.seen_by(judge), case, keep), eraser)
        return Measured(read - judged, details={"reader": read, "evaluator": judged})

    def _judge(self) -> tuple[Classifier, str]:
        """The evaluator, and how words were erased in its training."""
        assert self.evaluator is not None
        place = _place("evaluator", self.evaluator)
        return _load(*place), _eraser(*place)


def _right(case: Case, keep: Tensor, eraser: str) -> Tensor:
    """1 where a model gets the gold label from what is kept [B, U] of each text, else 0; NaN without a label: [B]."""
    found = case.with_eraser(eraser).logits(torch.arange(len(case)), keep).argmax(1).tolist()
    pairs = zip(found, known_gold(case), strict=True)
    return torch.tensor([torch.nan if label is None else float(label == each) for each, label in pairs])


def _kept(other: Case, case: Case, keep: Tensor) -> Tensor:
    """What is kept [B, U'] of the units of another model, if of a case's own these [B, U] are kept.

    A field in which the case has no units, as one that is held, is read as a whole.
    """
    if other.batch.units == case.batch.units:
        return keep
    found = torch.zeros_like(other.live)
    for row, (theirs, own) in enumerate(zip(other.batch.units, case.batch.units, strict=True)):
        selected = [unit for unit, kept in zip(own, keep[row].tolist(), strict=False) if kept]
        held = np.array([unit.field not in {each.field for each in own} for unit in theirs], dtype=bool)
        found[row, : len(theirs)] = torch.from_numpy(marked(theirs, selected) | held)
    return found


def _check_fit(name: str, folder: str, model: Classifier, audited: Classifier) -> None:
    """Refuse a model that does not decide between the classes of the one that is audited."""
    if audited.task is not Task.CLASSES:
        raise UnsupportedError("evaluator-leak needs a model that gives one class per example")
    if model.task is not Task.CLASSES or set(model.labels) != set(audited.labels):
        raise UsageError(
            f"the {name} in {folder} is another kind of model: {model!r}, and {audited!r} is audited",
            remedy="Give one that was trained on data with the same classes.",
        )
    if (model.kind == "image") != (audited.kind == "image"):
        raise UsageError(f"the {name} in {folder} reads {model.kind}s, and what is audited does not")


def _place(name: str, folder: str) -> tuple[str, int]:
    """A folder and when it was last written to: a model that is trained again in the same place is another."""
    path = Path(folder)
    if not path.is_dir():
        raise ModelError(
            f"there is no folder {folder!r}, which the option {name!r} names", remedy=near_folder(folder) + _TRAIN
        )
    return folder, max((each.stat().st_mtime_ns for each in path.iterdir()), default=0)


@lru_cache(maxsize=4)
def _load(folder: str, _written: int) -> Classifier:
    return Classifier.load(folder)


@lru_cache(maxsize=16)
def _fingerprint(folder: str, written: int) -> str:
    return str(_load(folder, written).describe()["fingerprint"])


@lru_cache(maxsize=16)
def _eraser(folder: str, _written: int) -> str:
    """How words were erased in the training of an evaluator, as its folder says."""
    record = read_record(folder, TrainRecord)
    for part in _parts(record.objective) if record else ():
        if part.get("name") == "random-erasure" and part.get("weight"):
            return str(part["eraser"])
    raise UsageError(f"the model in {folder} was not trained on texts with random words erased", remedy=_TRAIN)


def _parts(objective: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The objectives of a sum, or the one that there is."""
    parts: Sequence[Mapping[str, Any]] = objective.get("parts", [objective])
    return parts
