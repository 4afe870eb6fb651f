"""Scores against evidence: which units people marked (or a maker planted), and measures of one document at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from veridical.core.example import Unit
from veridical.masking import Case

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
    """Which units overlap some evidence: `Unit.overlaps` of all pairs at once, as long texts have many."""
    found = np.zeros(len(units), dtype=bool)
    for field in {each.field for each in evidence}:
        here = [index for index, unit in enumerate(units) if unit.field == field]
        theirs = np.array([each.span for each in evidence if each.field == field])  # [e, 2 axes]
        ours = np.array([units[index].span for index in here]).reshape(-1, theirs.shape[1])  # [u, 2 axes]
        axes = theirs.shape[1] // 2
        start = np.maximum(ours[:, None, :axes], theirs[None, :, :axes])  # [u, e, axes]
        end = np.minimum(ours[:, None, axes:], theirs[None, :, axes:])
        found[here] = (start < end).all(2).any(1)
    return found


def _has_both(reason: Tensor) -> bool:
    return bool(reason.any()) and not bool(reason.all())
