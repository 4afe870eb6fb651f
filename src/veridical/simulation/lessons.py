"""Lessons: what students of a model learn from, how far they are from it, and how well they simulate it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from veridical.core.errors import InputError
from veridical.core.values import Example
from veridical.models import Batch, Classifier
from veridical.simulation.plans import StudentPlan

_FLOOR = 1e-7
"""The least share that a logarithm is taken of."""


@dataclass(frozen=True)
class Lesson:
    """An example, what the model says of it, and why.

    `said` is the index of a class, probabilities [C] or a number. `why` are shares of units [U], or what shares of
    tokens are made of: for each of its rows, sources [J, T].
    """

    example: Example
    said: Tensor
    why: Tensor | tuple[Tensor, ...] | None = None


def batches(lessons: Sequence[Lesson], plan: StudentPlan, epoch: int, shift: int = 0) -> Iterator[list[Lesson]]:
    """The lessons of an epoch in batches: their order depends on the seed, a shift of it and the epoch only."""
    generator = torch.Generator().manual_seed((plan.seed + shift) * 100_003 + epoch)
    order = torch.randperm(len(lessons), generator=generator).tolist()
    # A rest that is smaller than a batch is left to a later epoch, whose order is another; a gradient of few is noise.
    end = max(plan.batch_size, len(order) - len(order) % plan.batch_size)
    for begin in range(0, min(end, len(order)), plan.batch_size):
        yield [lessons[at] for at in order[begin : begin + plan.batch_size]]


def padded_units(lessons: Sequence[Lesson], batch: Batch) -> Tensor:
    """The shares of units of some lessons, [B, U]."""
    for lesson, units in zip(lessons, batch.units, strict=True):
        assert isinstance(lesson.why, Tensor)
        if len(lesson.why) != len(units):
            raise InputError(
                f"its explanation has {len(lesson.why)} parts, and the student reads {len(units)}",
                example=lesson.example.id,
                remedy="Let students begin with a model that cuts texts alike, and reads texts as long.",
            )
    return pad_sequence([lesson.why for lesson in lessons], batch_first=True)  # type: ignore[misc]


def similarity_loss(classifier: Classifier, logits: Tensor, said: Tensor) -> Tensor:
    """How far logits [N, C] are from what the model says of each example: classes [N], probabilities or numbers."""
    if classifier.is_regression:
        return functional.mse_loss(logits[:, 0], said)
    return functional.cross_entropy(logits, said)


def divergence(why: Tensor, mine: Tensor) -> Tensor:
    """The divergence of own shares from given ones, KL(why || mine), the mean over rows."""
    terms = why * (why.clamp(min=_FLOOR).log() - mine.clamp(min=_FLOOR).log())
    return terms.sum(1).mean()


def to_unit_shares(tokens: Tensor, batch: Batch) -> Tensor:
    """Shares of units, [B, U], from shares of tokens [R, T]; what special tokens have is shared out again."""
    rows, live = batch.rows, batch.live
    real = rows.unit_of >= 0
    slot = (rows.owner[:, None] * live.shape[1] + rows.unit_of)[real]
    flat = tokens.new_zeros(live.numel()).index_add(0, slot.to(tokens.device), tokens[:, : real.shape[1]][real])
    units = flat.view(live.shape)
    return units / units.sum(1, keepdim=True).clamp(min=_FLOOR)


def said_by(classifier: Classifier, logits: Tensor, soft: bool) -> Tensor:
    """What students learn of a model's logits [N, C]: classes [N], probabilities [N, C] or numbers [N]."""
    if classifier.is_regression:
        return logits[:, 0]
    return classifier.probabilities(logits) if soft else logits.argmax(1)


def simulability(classifier: Classifier, mine: Tensor, theirs: Tensor) -> Tensor:
    """How well logits simulate others, both [N, C], example by example: 1 for the same class, 0 for another.

    For numbers it is the product of what both are above their means, in standard deviations: the mean of that is the
    Pearson correlation. It is 0 where one of them says the same of all examples.
    """
    if not classifier.is_regression:
        return (mine.argmax(1) == theirs.argmax(1)).float()
    return _standard(mine[:, 0]) * _standard(theirs[:, 0])


def _standard(numbers: Tensor) -> Tensor:
    numbers = numbers.double()
    spread = numbers.std(correction=0)
    return (numbers - numbers.mean()) / spread if spread > 0 else torch.zeros_like(numbers)


def agreement(classifier: Classifier, logits: Tensor, said: Tensor) -> float:
    """How well logits [N, C] simulate what was said of the same examples: accuracy, or Pearson's correlation."""
    theirs = said[:, None] if classifier.is_regression else said
    if not classifier.is_regression and said.dim() == 1:
        theirs = functional.one_hot(said, logits.shape[1])
    return float(simulability(classifier, logits, theirs).mean())
