"""Taking words away: which come first by their scores, and six ways to erase them.

What a faithfulness score means depends on which way was used.
`keep` is [R, U]: booleans keep or erase a unit, floats between 0 and 1 keep a part of it (where that is possible), with
gradients. Special tokens and held fields have no unit, so they always stay.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from veridical.core import values
from veridical.core.component import Component
from veridical.core.errors import UnsupportedError
from veridical.core.registry import Registry
from veridical.models import Ability, Classifier, Rows
from veridical.models.batch import ENTRY


class Eraser(Component, ABC):
    """A removal operator; `needs` is the ability a classifier must have for it."""

    needs: ClassVar[Ability]

    @abstractmethod
    def __call__(self, classifier: Classifier, rows: Rows, keep: Tensor) -> Rows:
        """The rows with only the kept units."""


@dataclass(frozen=True)
class Delete(Eraser):
    """Take the words out; the text closes up. The model reads a shorter, natural-looking text. Hard only."""

    needs: ClassVar[Ability] = Ability.DELETE

    def __call__(self, classifier: Classifier, rows: Rows, keep: Tensor) -> Rows:
        if keep.is_floating_point():
            raise UnsupportedError("a word cannot be half deleted", remedy="Use a soft `zero`, `mask` or `pad_attn`.")
        return classifier.drop(rows, ~positions(rows, keep))


@dataclass(frozen=True)
class Mask(Eraser):
    """Put the mask token in place (images: a grey patch). The text keeps its length; masked models know the token."""

    needs: ClassVar[Ability] = Ability.MASK

    def __call__(self, classifier: Classifier, rows: Rows, keep: Tensor) -> Rows:
        return _substitute(classifier, rows, positions(rows, keep), "mask")


@dataclass(frozen=True)
class Pad(Eraser):
    """Put the padding token in place, still attended to (images: a black patch). ERASER's and SaLoss's operator."""

    needs: ClassVar[Ability] = Ability.PAD

    def __call__(self, classifier: Classifier, rows: Rows, keep: Tensor) -> Rows:
        return _substitute(classifier, rows, positions(rows, keep), "pad")


@dataclass(frozen=True)
class PadAttn(Eraser):
    """Padding token in place and no attention to it: the others keep their positions and cannot see it."""

    needs: ClassVar[Ability] = Ability.PAD_ATTN

    def __call__(self, classifier: Classifier, rows: Rows, keep: Tensor) -> Rows:
        kept = positions(rows, keep)
        return classifier.hide(_substitute(classifier, rows, kept, "pad"), kept)


@dataclass(frozen=True)
class Zero(Eraser):
    """A zero vector in place of the word's embedding. Its position, and what the model adds to it, are still there."""

    needs: ClassVar[Ability] = Ability.ZERO

    def __call__(self, classifier: Classifier, rows: Rows, keep: Tensor) -> Rows:
        return replace(rows, gate=positions(rows, keep).float(), fill="zero")


@dataclass(frozen=True)
class ZeroOutput(Eraser):
    """A zero vector in place of all that enters the first layer at the word, as mask layers are trained with."""

    needs: ClassVar[Ability] = Ability.EMBEDDING_OUTPUT

    def __call__(self, classifier: Classifier, rows: Rows, keep: Tensor) -> Rows:
        return replace(rows, gate=positions(rows, keep).float(), fill=ENTRY)


ERASERS: Registry[Eraser] = Registry(
    "eraser",
    "veridical.erasers",
    {"delete": Delete, "mask": Mask, "pad": Pad, "pad_attn": PadAttn, "zero": Zero, "zero_output": ZeroOutput},
    required=("needs",),
    abilities=Ability,
)


EraserName = Annotated[str, ERASERS.name_option("an")]
"""The type of an option that names an eraser: `mask`, or one of a plug-in with options of its own."""


def positions(rows: Rows, keep: Tensor) -> Tensor:
    """Spread what is kept of units [R, U] over the positions [R, L] of their tokens."""
    if not keep.shape[1]:  # no example has a unit, so there is nothing to gather from
        return torch.ones(rows.unit_of.shape, dtype=keep.dtype)
    always = torch.ones((), dtype=keep.dtype)
    return torch.where(rows.unit_of < 0, always, keep.gather(1, rows.unit_of.clamp(min=0)))


def _substitute(classifier: Classifier, rows: Rows, kept: Tensor, token: str) -> Rows:
    if kept.is_floating_point():
        classifier.require(Ability.EMBEDDINGS, asker=f"erasing a part of a word by {token!r}")
        return replace(rows, gate=kept, fill=token)
    return classifier.substitute(rows, ~kept, token)


def places(scores: Tensor, live: Tensor) -> Tensor:
    """The place of each unit when the highest score comes first: [B, U] and [B, U] give [B, U], 0 is first.

    Equal scores keep their order in the text. Slots without a unit come after all others.
    """
    order = scores.masked_fill(~live, -torch.inf).argsort(dim=1, descending=True, stable=True)
    return order.argsort(dim=1)


def share(ratio: float, units: Tensor) -> Tensor:
    """How many units [B] a share of texts with so many `units` [B] is: rounded up, and at least 1."""
    # Number by number, so that there is one rule: a rationale must have as many words as a metric takes away.
    counts = [values.share(ratio, number) for number in units.tolist()]
    return torch.tensor(counts, dtype=torch.long, device=units.device)


def share_rounded_down(ratio: float, units: Tensor) -> Tensor:
    """How many units [B] a share of texts with so many `units` [B] is: rounded down, so it may be none."""
    return (ratio * units.double() + values.TOLERANCE).floor().long()


def top(place: Tensor, counts: Tensor) -> Tensor:
    """Which units are among the first: places [B, U] and counts [B, K] give booleans [B, K, U]."""
    return place[:, None, :] < counts[:, :, None]


HIGH_NEGATIVE, LOW_NEGATIVE, NEUTRAL, LOW_POSITIVE, HIGH_POSITIVE = range(5)
LOWEST, HIGHEST = HIGH_NEGATIVE - NEUTRAL, HIGH_POSITIVE - NEUTRAL
"""The scores of methods that give levels."""


def levels(scores: Tensor, live: Tensor) -> Tensor:
    """The level of each unit, [B, U] and [B, U] give [B, U]: from 0, highly negative, over 2, neutral, to 4.

    High is what lies beyond the mean of the document's own scores of that sign, so scaling changes nothing, and a
    word that is the only one of its sign is low. Slots without a unit are neutral.
    """
    positive, negative = live & (scores > 0), live & (scores < 0)
    above = positive & (scores > _mean(scores, positive))
    below = negative & (scores < _mean(scores, negative))
    found = torch.full(scores.shape, NEUTRAL)
    for where, level in ((positive, LOW_POSITIVE), (negative, LOW_NEGATIVE)):
        found[where] = level
    found[above], found[below] = HIGH_POSITIVE, HIGH_NEGATIVE
    return found


def given_levels(scores: Tensor) -> Tensor:
    """The same for scores that are levels already, from -2 to 2.

    Cut again, they would differ in one case only: where all words of a sign are high, they would all be low. So a
    metric that picks the high words, or the low ones where none is high, picks the same words of both.
    """
    return NEUTRAL + scores.round().clamp(LOWEST, HIGHEST).long()


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """The mean of some of the values of each document, [B, 1]."""
    # In double precision: a word that is alone with its sign must equal its own mean, and so must words that are alike.
    total = values.double().masked_fill(~where, 0).sum(1, keepdim=True)
    return total / where.sum(1, keepdim=True).clamp(min=1)
