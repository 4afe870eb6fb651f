"""Position leak: do the places of selected words tell the label, without any of the words?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from veridical.core.component import Presets, Within, option
from veridical.core.errors import InputError
from veridical.core.values import Example, Explanation, Unit
from veridical.metrics.base import CorpusMetric, Measured, Need, check_pairs
from veridical.metrics.selection import Selecting

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class PositionLeak(Selecting, CorpusMetric):
    """Whether the places of the selected words alone tell the gold label: right, less the most frequent class's right.

    A small classifier sees where in the text the selected words stand, whether they stand together, and with
    `words=above` how many they are, but none of the words. It predicts the label of documents that it was not fitted
    to. The value of a document is 1 or 0 for this prediction less 1 or 0 for the most frequent class, so that the mean
    is accuracy above the majority, and its interval should hold 0. A text's length is no leak of its mask: all numbers
    are relative to a random selection of as many words, and the means of texts of that length are taken out of them.
    The detail `length` says where length alone is right. Undefined without a label, where all labels are the same, and
    where there are fewer documents than folds; and for all where no word of any is selected, or every word of all.
    """

    bins: Annotated[int, Within(1, 100)] = option(10, "Into how many parts of equal length a text is cut.")
    folds: Annotated[int, Within(2, 100)] = option(5, "Into how many parts the documents are cut, to hold one out.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ONE_CLASS})
    meaning: ClassVar[str] = (
        "How often the places and the number of the selected words, without the words, tell the label, above what the "
        "most frequent class gets right; 0 is no leak."
    )
    weakness: ClassVar[str] = (
        "Finds what a small linear classifier finds, and needs documents to learn from: some hundreds. Where reasons "
        "of one class do stand elsewhere, as a praise in the last sentence may, an honest selection tells it, too."
    )
    percent: ClassVar[bool] = True
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True
    alarm: ClassVar[str] = "The places or the number of the selected words tell the label, which leaks"
    greater_is_better = False
    presets: ClassVar[Presets] = {"mask": {"words": "above"}}

    def over(self, examples: Sequence[Example], explanations: Sequence[Explanation]) -> Measured:
        check_pairs(examples, explanations)
        found = {name: np.full(len(examples), np.nan) for name in ("right", "majority", "length")}
        known = self._known(examples, explanations)
        names, labels = np.unique([str(examples[index].label) for index in known], return_inverse=True)
        if len(names) > 1 and len(known) >= self.folds and self._selects([explanations[index] for index in known]):
            judged = self._judged([explanations[index] for index in known], labels)
            for name, right in judged.items():
                found[name][known] = right
        details = {name: torch.from_numpy(values) for name, values in found.items()}
        return Measured(details["right"] - details["majority"], details=details)

    def _known(self, examples: Sequence[Example], explanations: Sequence[Explanation]) -> list[int]:
        """The documents with a label and enough words, ordered by id: folds must not depend on the order of a file."""
        for example in examples:
            if not isinstance(example.label, str | None):
                raise InputError(
                    f"the label is {example.label!r}, and not a class",
                    example=example.id,
                    field="label",
                    remedy="Only models that give one class per example can be audited for leaks.",
                )
        known = [
            index
            for index, (example, explanation) in enumerate(zip(examples, explanations, strict=True))
            if example.label is not None and len(explanation.units) >= self.fewest
        ]
        return sorted(known, key=lambda index: (examples[index].id, explanations[index].target))

    def _judged(self, explanations: Sequence[Explanation], labels: Ints) -> dict[str, Bools]:
        """Who is right about each document, [N]: the places, the most frequent class, the length alone."""
        axes = {unit.field: len(unit.span) // 2 for each in explanations for unit in each.units}
        features = np.stack([self._features(each, axes) for each in explanations])  # [N, F]
        length = _lengths(np.array([len(each.units) for each in explanations], dtype=float))  # [N, M]
        return {
            "right": out_of_fold(features, labels, length, self.folds) == labels,
            "majority": labels == np.bincount(labels).argmax(),
            "length": out_of_fold(length, labels, length[:, :1], self.folds) == labels,
        }

    def _chosen(self, explanation: Explanation) -> Bools:
        """Which words are selected, [U]."""
        scores = torch.tensor(explanation.scores, dtype=torch.float64)[None]  # [1, U]
        found: Bools = self.selected(scores, torch.ones_like(scores, dtype=torch.bool))[0].numpy()
        return found

    def _selects(self, explanations: Sequence[Explanation]) -> bool:
        """Whether there is a selection at all: a limit may be below all scores of a method, or above them."""
        chosen = np.concatenate([self._chosen(each) for each in explanations])
        return bool(chosen.any() and not chosen.all())

    def _features(self, explanation: Explanation, axes: Mapping[str, int]) -> Floats:
        """What is told of a mask, [F], each number less what it is on average for as many words drawn at random."""
        chosen = self._chosen(explanation)
        traits = np.concatenate(
            [_traits(explanation.units, field, axes[field], self.bins) for field in sorted(axes)], 1
        )
        count, units = int(chosen.sum()), len(chosen)
        if not count:
            return np.zeros(traits.shape[1] + 2)
        pairs = (chosen[1:] & chosen[:-1]).sum() / count - (count - 1) / units  # selected words that stand together
        # The first words are as many for every mask: their number tells the length of the text and nothing else.
        size = count / units if self.words == "above" else 0.0
        return np.append(traits[chosen].mean(0) - traits.mean(0), [pairs, size])


def _lengths(units: Floats) -> Floats:
    """What is told of the lengths of texts [N], [N, M]: smooth functions, and which of some groups of lengths it is."""
    groups = min(_GROUPS, max(1, len(units) // _GROUP))
    edges = np.quantile(units, np.arange(1, groups) / groups)
    smooth = np.stack([np.ones_like(units), units, np.log(units), 1 / units], 1)
    # The number of first words goes up in steps, so what they have in common jumps, too, which no smooth function does.
    return np.concatenate([smooth, np.eye(groups)[np.searchsorted(edges, units, side="left")]], 1)


_GROUPS, _GROUP = 10, 30
"""The most groups of lengths, and the fewest documents of a group, so that there is enough to learn from beside."""


def _traits(units: Sequence[Unit], field: str, axes: int, bins: int) -> Floats:
    """What is told of each unit [U, 1 + axes * (bins + 3)]: whether it is of a field, and where there on each axis.

    That is its part of the text, or of a side of an image, whether it is the first or the last, and its place.
    """
    here = np.array([unit.field == field for unit in units])
    found = np.zeros((len(units), 1 + axes * (bins + 3)))
    found[:, 0] = here
    spans = np.array([unit.span for unit in units if unit.field == field]).reshape(-1, 2 * axes)
    for axis in range(axes if here.any() else 0):
        # By the order of where units start, and not by characters: these would tell how long words are.
        order = np.unique(spans[:, axis], return_inverse=True)[1]
        place = order / max(1, order.max())
        part = np.eye(bins)[np.minimum((place * bins).astype(int), bins - 1)]
        columns = [part, order[:, None] == 0, order[:, None] == order.max(), place[:, None]]
        start = 1 + axis * (bins + 3)
        found[here, start : start + bins + 3] = np.concatenate(columns, 1)
    return found


_RIDGE = 1.0
"""The penalty of the weights, for numbers with a standard deviation of 1."""

_FLAT = 1e-9
"""A column that spreads less than this says nothing but rounding."""


def out_of_fold(features: Floats, labels: Ints, beside: Floats, folds: int) -> Ints:
    """The class [N] that features [N, F] predict for each document, by a classifier fitted to the other folds.

    What the columns `beside` [N, M] tell of the features by a straight line is taken out of them before; a column of
    ones among them takes the mean. Each fold has its share of each class, as documents are dealt out class by class.
    """
    fold, found = np.empty(len(labels), dtype=np.intp), np.empty(len(labels), dtype=np.intp)
    # A fold with more of a class than the others would leave fewer of it to learn from, and look worse than chance.
    fold[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % folds
    for each in range(folds):
        held = fold == each
        found[held] = _predicted(features, labels, beside, held)
    return found


def _predicted(features: Floats, labels: Ints, beside: Floats, held: NDArray[np.bool_]) -> Ints:
    """The classes of the documents that are held out, by a classifier fitted to all others."""
    seen = ~held
    rest = features - beside @ np.linalg.lstsq(beside[seen], features[seen], rcond=None)[0]
    spread = rest[seen].std(0)
    rest = rest / np.where(spread > _FLAT, spread, 1)
    classes = np.eye(labels.max() + 1)[labels]  # [N, C] of 0 and 1
    prior = classes[seen].mean(0)
    gram = rest[seen].T @ rest[seen] + _RIDGE * np.eye(rest.shape[1])
    weights = np.linalg.solve(gram, rest[seen].T @ (classes[seen] - prior))  # [F, C]
    return np.asarray((rest[held] @ weights + prior).argmax(1), dtype=np.intp)
