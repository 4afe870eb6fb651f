"""Part-of-speech importance: which kinds of words does an explanation rely on?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.example import Example, Unit
from veridical.masking import Case
from veridical.metrics.base import Measured, Need
from veridical.metrics.tagging import OPEN_CLASS, TAGGERS, TAGS, Tagger, tags
from veridical.models.texts import FIELDS, check_texts

_NUMBER = {tag: number for number, tag in enumerate(TAGS)}
_NO_UNIT = -1


@dataclass(frozen=True)
class PosImportance:
    """The share of importance on words of open classes: adjectives, adverbs, interjections, nouns, names and verbs.

    Importance is the absolute score over the sum of a document's. The details are, for each universal part of speech,
    the mean importance of a document's words of that kind. A document without importance is undefined.
    """

    tagger: str = "spacy"
    needs: ClassVar[frozenset[Need]] = frozenset({"text"})
    meaning: ClassVar[str] = "The share of importance on words that carry content, as nouns, verbs and adjectives do."
    weakness: ClassVar[str] = (
        "Describes and does not judge: a model may well decide on 'not'. The tagger reads English and makes mistakes."
    )
    fewest: ClassVar[int] = 2
    percent: ClassVar[bool] = False
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True
    greater_is_better: ClassVar[bool] = True
    presets: ClassVar[dict[str, dict[str, object]]] = {"saloss": {}}

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        check_texts(case.batch.examples)
        number = self._numbers(case)
        weight = scores.double().abs().masked_fill(~case.live, 0)
        weight = weight / weight.sum(1, keepdim=True)  # [B, U]; 0 / 0 is NaN, as it should be
        means = {tag: _mean(weight, number == _NUMBER[tag]) for tag in TAGS}
        is_open = (number[..., None] == torch.tensor([_NUMBER[tag] for tag in OPEN_CLASS])).any(2)
        return Measured((weight * is_open).sum(1), details=means)

    def _numbers(self, case: Case) -> Tensor:
        """The number of each unit's tag, [B, U]."""
        tagger = TAGGERS.create(self.tagger)
        found = torch.full(case.live.shape, _NO_UNIT)
        for row, (example, units) in enumerate(zip(case.batch.examples, case.batch.units, strict=True)):
            found[row, : len(units)] = torch.tensor([_NUMBER[tag] for tag in _tags(tagger, example, units)])
        return found


def _tags(tagger: Tagger, example: Example, units: tuple[Unit, ...]) -> list[str]:
    # Units come field by field, in the order of the fields.
    return [
        tag
        for field in FIELDS
        if field in example.inputs
        for tag in tags(tagger, str(example.inputs[field]), [unit for unit in units if unit.field == field])
    ]


def _mean(weight: Tensor, here: Tensor) -> Tensor:
    """The mean weight of some units of each document, [B]; NaN where it has none of them."""
    return (weight * here).sum(1) / here.sum(1)
