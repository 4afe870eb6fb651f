"""Scores against what people marked: which words count as marked, whether they come out on top, and how high."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from veridical.core.component import Presets, option
from veridical.core.stop_words import is_stop_word
from veridical.core.values import Unit
from veridical.masking import Case
from veridical.masking.erasure import places
from veridical.metrics.base import Measured, Metric, Need

Field = Literal["all", "text", "text_pair"]
"""Which units are judged: all, or those of one text of a pair, such as the source or the target of a translation."""


def gold(case: Case) -> Tensor:
    """Which units [B, U] share a character or pixel with the evidence of their example."""
    found = torch.zeros(case.live.shape, dtype=torch.bool)
    for row, (example, units) in enumerate(zip(case.batch.examples, case.batch.units, strict=True)):
        found[row, : len(units)] = torch.from_numpy(marked(units, example.evidence))
    return found


def judged(case: Case, field: Field) -> Tensor:
    """Which unit slots [B, U] are real and of that field."""
    if field == "all":
        return case.live
    here = torch.zeros_like(case.live)
    for row, units in enumerate(case.batch.units):
        here[row, : len(units)] = torch.tensor([unit.field == field for unit in units], dtype=torch.bool)
    return here


def per_document(case: Case, scores: Tensor, field: Field, measure: Callable[[Tensor, Tensor], float]) -> Tensor:
    """A measure of scores [u] and gold [u] for each example, [B]; NaN unless some units are evidence and some not."""
    rows = zip(scores, gold(case), judged(case, field), strict=True)
    pairs = [(score[here], reason[here]) for score, reason, here in rows]
    return torch.tensor([measure(*pair) if _has_both(pair[1]) else torch.nan for pair in pairs])


def marked(units: Sequence[Unit], evidence: Sequence[Unit]) -> NDArray[np.bool_]:
    """Which units overlap some evidence: `Unit.overlaps` of all pairs at once, because long texts have many."""
    found = np.zeros(len(units), dtype=bool)
    for field in {each.field for each in evidence}:
        here = [index for index, unit in enumerate(units) if unit.field == field]
        theirs = np.array([each.span for each in evidence if each.field == field])  # [e, 2 axes]
        ours = np.array([units[index].span for index in here]).reshape(-1, theirs.shape[1])  # [u, 2 axes]
        axes = theirs.shape[1] // 2  # a span has one axis in a text, two in an image: starts first, then ends
        start = np.maximum(ours[:, None, :axes], theirs[None, :, :axes])  # [u, e, axes]
        end = np.minimum(ours[:, None, axes:], theirs[None, :, axes:])
        # Two boxes share something where the later start lies before the earlier end, on every axis.
        found[here] = (start < end).all(2).any(1)
    return found


def _has_both(reason: Tensor) -> bool:
    return bool(reason.any()) and not bool(reason.all())


Keep = Literal["all", "rationale", "no-stop-words"]


def kept(keep: Keep, units: Sequence[Unit], evidence: Sequence[Unit]) -> NDArray[np.bool_]:
    """Which units a filter lets through."""
    if keep == "rationale":
        return marked(units, evidence)
    return np.array([keep == "all" or not is_stop_word(unit) for unit in units], dtype=bool)


@dataclass(frozen=True)
class ReasonsOnTop(Metric):
    """1 when every true reason scores above every other word, else 0: the mean says how often they are on top.

    Choose it for data whose evidence is the reason and not an opinion, such as planted data. A reason that has the same
    score as another word is not above it. The detail `share` is the share of reasons found among as many first places.
    Documents where all words are reasons, or none, are undefined.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    meaning: ClassVar[str] = "How often every true reason scores above every other word."
    weakness: ClassVar[str] = (
        "Right only where the evidence really is the reason: planted data, and a model that has learned it. One "
        "reason out of place counts as much as all of them; the share tells the two apart."
    )
    percent: ClassVar[bool] = True
    comparable: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        reasons, live = gold(case), case.live
        # Reasons go last in the order that decides between equal scores, so that a tie is never won.
        order = reasons.long().argsort(dim=1, stable=True)
        place = places(scores.gather(1, order), live.gather(1, order))
        count = reasons.sum(1)
        found = (reasons.gather(1, order) & (place < count[:, None])).sum(1)
        trivial = (count == 0) | (count == live.sum(1))
        share = (found / count).masked_fill(trivial, torch.nan)
        return Measured((found == count).float().masked_fill(trivial, torch.nan), details={"share": share})


@dataclass(frozen=True)
class RationaleAUC(Metric):
    """The area under the ROC curve of each document: how often a marked word scores above an unmarked one.

    Equal scores count half. Needs no choice of how many words an explanation picks (SMaT). Documents where all words
    are marked, or none, are undefined.
    """

    field: Field = option(
        "all", "Judge the words of one text of a pair only, such as the source or the target of a translation."
    )
    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    meaning: ClassVar[str] = "How often a word that people marked scores above one that they did not; 0.5 is chance."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. Words that nobody would look at "
        "count as much as the first ones."
    )
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "smat": {},
        "smat-source": {"field": "text"},
        "smat-target": {"field": "text_pair"},
    }

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        return Measured(per_document(case, scores, self.field, auc))


def auc(scores: Tensor, gold: Tensor) -> float:
    """The chance that a unit of `gold` [u] scores above another one, ties counting half."""
    marked, others = scores[gold], scores[~gold].sort().values
    # Left and right places in the sorted others count those below, and those below or equal: their mean halves ties.
    below = torch.searchsorted(others, marked, right=False) + torch.searchsorted(others, marked, right=True)
    return float(below.double().mean() / (2 * len(others)))


Area = Literal["steps", "trapezoid"]


@dataclass(frozen=True)
class RationaleAveragePrecision(Metric):
    """The area under the curve of precision over recall, as more and more of the ranking is taken.

    Words of equal score are taken together. Looks at the top of the ranking more than `rationale-auc` does (ERASER;
    SMaT). Documents where all words are marked, or none, are undefined.
    """

    area: Area = option(
        "steps", "How the area is summed: by steps, as average precision is defined, or by trapezoids, as ERASER does."
    )
    positive: bool = option(False, "Take negative scores for 0, so that all of them are equal.")
    field: Field = option("all", "Judge the words of one text of a pair only.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.EVIDENCE})
    meaning: ClassVar[str] = "How early in the ranking the words come that people marked: 1 when they are the first."
    weakness: ClassVar[str] = (
        "Shows whether people would agree, not whether the model used these words. What chance reaches is the share of "
        "marked words, which differs between documents."
    )
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "smat": {},
        "eraser": {"area": "trapezoid"},
        "ferret": {"area": "trapezoid", "positive": True},
    }

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        scores = scores.clamp(min=0) if self.positive else scores
        measure = partial(average_precision, area=self.area)
        return Measured(per_document(case, scores, self.field, measure))


def average_precision(scores: Tensor, gold: Tensor, area: Area = "steps") -> float:
    """The area under precision over recall of units [u], some of which are in `gold` [u]."""
    group = torch.unique(-scores, return_inverse=True)[1]  # 0 for the highest score, equal scores together
    found = torch.bincount(group, weights=gold.double()).cumsum(0)  # [g]: marked units down to each group
    precision, recall = found / torch.bincount(group).cumsum(0), found / found[-1]
    gained = recall.diff(prepend=recall.new_zeros(1))  # the width of each piece of the area
    if area == "trapezoid":
        # The curve starts at precision 1, where nothing is taken yet.
        precision = (precision + torch.cat([precision.new_ones(1), precision[:-1]])) / 2
    return float((gained * precision).sum())
