"""Lessons: what a student learns from. Explanations of a slow method, and how far an answer is from one of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.errors import InputError
from veridical.core.values import Example, Explanation, Unit
from veridical.masking.case import Scale
from veridical.masking.erasure import ERASERS, NEUTRAL, levels

Reduction = Literal["mean", "sum", "ref_code"]
"""How the terms of a text make its loss: their mean, the published sum, or as in the authors' code."""

_PAIRS_AT_ONCE = 2048
"""The most pairs of words of a text that a step of learning order looks at; longer texts have some drawn."""

_TIE = math.log(2)


@dataclass(frozen=True)
class Lesson:
    """What teachers said of one example: for each target a score for each unit, [T, U].

    The lesson of a part of a text has the `level` [T, U] of each unit in the whole text.
    """

    example: Example
    units: tuple[Unit, ...]
    targets: tuple[int, ...]
    scores: Tensor
    level: Tensor | None = None

    def part(self, start: int, end: int, count: int) -> Lesson:
        """The lesson of some units of the text; levels are 3 or 5 (`count`)."""
        level = levels_of(self.scores, torch.ones_like(self.scores, dtype=torch.bool), count)
        return replace(self, units=self.units[start:end], scores=self.scores[:, start:end], level=level[:, start:end])


@dataclass(frozen=True)
class Lessons:
    """The lessons of some data, the sizes of the teachers' scores, and how many explanations were of no use.

    `signed` says whether any score is negative. `game` has the output and the eraser that all teachers asked about, if
    these are the same.
    """

    items: tuple[Lesson, ...]
    sizes: tuple[float, ...]
    signed: bool
    left_out: int
    game: Mapping[str, str] = field(default_factory=dict)

    @property
    def scale(self) -> float:
        """What answers are multiplied by: the size of the scores of one teacher, or of several on the same output."""
        return self.sizes[0] if len(set(self.sizes)) == 1 else 1.0

    @property
    def targets(self) -> set[int]:
        """The classes that are explained."""
        return {target for item in self.items for target in item.targets}

    def __len__(self) -> int:
        return len(self.items)


def lessons_of(
    taught: Sequence[Sequence[Explanation]], labels: Sequence[str], sizes: Sequence[float] | None = None
) -> Lessons:
    """Lessons from the explanations of one or more teachers.

    Each teacher's scores are divided by their size, so that several teachers speak with one voice; those of teachers
    that asked about the same output with the same eraser are on one scale already, and are divided by the size of all.
    For dev data the `sizes` are those of the training data. An explanation all of whose scores are 0 teaches nothing,
    and is left out.
    """
    game, purpose = _game(taught), "to learn" if sizes is None else "to choose the best student by"
    if sizes is None:
        sizes = [_size(chain(*taught))] * len(taught) if game else [_size(explanations) for explanations in taught]
    found: dict[str, list[tuple[Explanation, float]]] = {}
    left_out = 0
    for explanations, size in zip(taught, sizes, strict=True):
        for each in explanations:
            if any(each.scores):
                found.setdefault(each.example_id, []).append((each, size))
            else:
                left_out += 1
    if not found:
        raise InputError(
            f"there is nothing {purpose}: all scores of the teacher are 0",
            remedy="Choose another teacher, or other data.",
        )
    items = tuple(_lesson(pairs, labels) for pairs in found.values())
    signed = any(bool((item.scores < 0).any()) for item in items)
    return Lessons(items, tuple(sizes), signed, left_out, game)


def _game(taught: Sequence[Sequence[Explanation]]) -> dict[str, str]:
    """The output and the eraser that all explanations asked about, by their specs; empty if they differ or say none."""
    specs = {id(each.spec): each.spec for explanations in taught for each in explanations}
    found = {_asked(spec.get("method")) for spec in specs.values()}
    only = found.pop() if len(found) == 1 else None
    return {} if only is None else {"game": only[0], "eraser": only[1]}


def _asked(method: Any) -> tuple[str, str] | None:
    """The output and the eraser of a method that takes words away, by its spec."""
    told = method if isinstance(method, Mapping) else {}
    output, eraser = told.get("output"), told.get("eraser")
    is_known = output in get_args(Scale) and isinstance(eraser, str) and eraser in ERASERS
    return (str(output), str(eraser)) if is_known else None


def _size(explanations: Iterable[Explanation]) -> float:
    """The root of the mean square of all scores."""
    squares = [score**2 for each in explanations for score in each.scores]
    return math.sqrt(sum(squares) / max(1, len(squares))) or 1.0


def _lesson(pairs: Sequence[tuple[Explanation, float]], labels: Sequence[str]) -> Lesson:
    first = pairs[0][0]
    for each, _ in pairs:
        if each.units != first.units:
            raise InputError(
                "two teachers cut this text into different words",
                example=first.example_id,
                remedy="Explain it with the same model and the same --units by all teachers.",
            )
    return Lesson(
        Example(first.example_id, first.inputs, first.label),
        first.units,
        tuple(labels.index(each.target) if labels else 0 for each, _ in pairs),
        torch.stack([torch.tensor(each.scores) / size for each, size in pairs]),
    )


@dataclass(frozen=True)
class Aims:
    """What a batch of lessons asks for: for each pair of a text and a target its scores [P, U], and their `level`.

    `text` [P] is which text of the batch a pair belongs to, `target` [P] the class; `live` [P, U] are its units.
    """

    text: Tensor
    target: Tensor
    scores: Tensor
    level: Tensor
    live: Tensor


def aims_of(lessons: Sequence[Lesson], count: int) -> Aims:
    """The aims of a batch of lessons; levels are 3 or 5 (`count`)."""
    longest = max(len(lesson.units) for lesson in lessons)
    rows = [row for lesson in lessons for row in lesson.scores]
    scores = torch.zeros(len(rows), longest)
    live = torch.zeros(len(rows), longest, dtype=torch.bool)
    for place, row in enumerate(rows):
        scores[place, : len(row)], live[place, : len(row)] = row, True
    text = [at for at, lesson in enumerate(lessons) for _ in lesson.targets]
    target = [target for lesson in lessons for target in lesson.targets]
    level = levels_of(scores, live, count)
    place = 0
    for lesson in lessons:
        if lesson.level is not None:  # of the whole text that this is a part of
            level[place : place + len(lesson.targets), : len(lesson.units)] = lesson.level
        place += len(lesson.targets)
    return Aims(torch.tensor(text), torch.tensor(target), scores, level, live)


def levels_of(scores: Tensor, live: Tensor, count: int) -> Tensor:
    """The level of each unit, [B, U]; of 5, or of 3 for scores that are never negative."""
    return levels(scores, live) if count == 5 else three_levels(scores, live)


def three_levels(scores: Tensor, live: Tensor) -> Tensor:
    """Levels of scores that are never negative, [B, U]: 0 high, 1 medium, 2 low, by mean and deviation of a text."""
    count = live.sum(1, keepdim=True).clamp(min=1)
    mean = (scores * live).sum(1, keepdim=True) / count
    deviation = (((scores - mean) * live).pow(2).sum(1, keepdim=True) / count).sqrt()
    return torch.where(scores >= mean + deviation, 0, torch.where(scores >= mean - deviation, 1, 2))


def squared_error(found: Tensor, aims: Aims, reduction: Reduction) -> Tensor:
    """How far scores [P, U] are from the teacher's."""
    return _over_words((found - aims.scores).pow(2), aims.live, reduction)


def level_loss(found: Tensor, aims: Aims, reduction: Reduction, tags: Tensor | None = None) -> Tensor:
    """The cross-entropy of levels, from a logit for each [P, U, K]; label tokens, `tags` [P, 2, K], are neutral."""
    level, live = aims.level, aims.live
    if tags is not None:
        ends = torch.ones(tags.shape[:2], dtype=torch.bool)
        found, level = torch.cat([found, tags], 1), torch.cat([level, torch.full(ends.shape, NEUTRAL)], 1)
        live = torch.cat([live, ends], 1)
    each = functional.cross_entropy(found.transpose(1, 2), level, reduction="none")  # [P, U]
    return _over_words(each, live, reduction)


def order_loss(
    found: Tensor,
    sizes: Tensor,
    live: Tensor,
    reduction: Reduction = "mean",
    tags: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """How far values [P, U] are from the order of sizes [P, U]: each pair should have the larger one in front.

    Equal sizes have no order, and are skipped; in the authors' code they push the first of the two up. Label tokens,
    whose values are `tags` [P, 2], come after every word. Of a long text some pairs are drawn, by a `generator` the
    same ones each time, and stand for all of them.
    """
    words = live.sum(1)
    if tags is not None:
        found, sizes, live = _with_tags(found, sizes, live, tags)
    first, second, real = _pairs(live, generator)  # [P, pairs] each
    gap = sizes.gather(1, first) - sizes.gather(1, second)
    ahead = torch.where(gap >= 0, 1.0, -1.0) * (found.gather(1, first) - found.gather(1, second))
    each = functional.softplus(-ahead)
    compared = real.sum(1)
    if reduction == "ref_code":
        each = torch.where(gap == 0, each - _TIE, each)
    else:
        real = real & (gap != 0)
    total = (each * real).sum(1)
    if reduction == "mean":
        return (total / real.sum(1).clamp(min=1)).mean()
    count = live.sum(1)
    total = total * (count * (count - 1) / 2) / compared.clamp(min=1)  # what was drawn stands for all pairs
    return (total / (words + 2) if reduction == "ref_code" else total).mean()


def _with_tags(found: Tensor, sizes: Tensor, live: Tensor, tags: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Values, sizes and which are real, with two label tokens at the end that are smaller than every word."""
    least = sizes.masked_fill(~live, torch.inf).amin(1, keepdim=True)
    ends = torch.ones(tags.shape, dtype=torch.bool)
    return (
        torch.cat([found, tags], 1),
        torch.cat([sizes, (least - 1).expand(tags.shape)], 1),
        torch.cat([live, ends], 1),
    )


def _pairs(live: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of units that are compared in each text, and which of them are real, [P, pairs] each.

    These are all pairs of a text's own units, or where these are too many, some of them drawn at random. A text among
    longer ones has as many of its own pairs as it would have alone.
    """
    texts, units = live.shape
    if units * (units - 1) // 2 <= _PAIRS_AT_ONCE:
        first, second = (each.expand(texts, -1) for each in torch.triu_indices(units, units, 1))
        return first, second, live.gather(1, first) & live.gather(1, second)
    place = (~live).long().argsort(dim=1, stable=True)  # [P, U]: a text's own units come first
    first, second = torch.zeros(2, texts, _PAIRS_AT_ONCE, dtype=torch.long)
    real = torch.zeros(texts, _PAIRS_AT_ONCE, dtype=torch.bool)
    for row, count in enumerate(live.sum(1).tolist()):
        pairs = torch.triu_indices(count, count, 1)  # [2, n (n - 1) / 2]
        if pairs.shape[1] > _PAIRS_AT_ONCE:
            pairs = pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:_PAIRS_AT_ONCE]]
        first[row, : pairs.shape[1]], second[row, : pairs.shape[1]] = place[row][pairs]
        real[row, : pairs.shape[1]] = True
    return first, second, real


def _over_words(each: Tensor, live: Tensor, reduction: Reduction) -> Tensor:
    total = (each * live).sum(1)
    return (total / live.sum(1).clamp(min=1) if reduction == "mean" else total).mean()


def order_accuracy(found: Tensor, sizes: Tensor, live: Tensor) -> Tensor:
    """The share of pairs of words that stand in the right order, for each row [P]; NaN where no pair has an order."""
    first, second = torch.triu_indices(live.shape[1], live.shape[1], 1)
    gap = sizes[:, first] - sizes[:, second]
    real = live[:, first] & live[:, second] & (gap != 0)
    right = ((found[:, first] - found[:, second]) * gap > 0) & real
    return right.sum(1) / real.sum(1)
