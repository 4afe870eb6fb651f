"""Attack: small changes of a text that keep its meaning, until the model errs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.core.example import Example
from veridical.data.splits import Chance
from veridical.masking import Case
from veridical.metrics.attack_edits import Edit, rewrite, words_of
from veridical.metrics.attack_entities import FINDERS, EditTools, check_kinds, edits_of
from veridical.metrics.attack_lists import LISTS
from veridical.metrics.base import Measured, Metric, Need, Subject
from veridical.models.text_fields import FIELDS, check_texts
from veridical.models.units import Span

_DIGITS = 6
"""What differs less is rounding, which must not decide between two edits: the first in the text is taken."""


@dataclass(frozen=True)
class Answer:
    """What a model makes of a rewritten text: the `probability` of the right class, and whether it is `fooled`."""

    probability: float
    fooled: bool


Question = tuple[int, tuple[Edit, ...]]
"""A document, and the edits to be made in it."""

Ask = Callable[[Sequence[Question]], Sequence[Answer]]


@dataclass
class Attempt:
    """The attack on one document: the edits there are, those made so far, and how it went."""

    edits: Sequence[Edit]
    made: tuple[Edit, ...] = ()
    fooled: bool = False
    queries: int = 0

    @property
    def touched(self) -> set[tuple[str, Span]]:
        """The words that were modified."""
        return {word for edit in self.made for word in edit.touched}

    @property
    def left(self) -> list[Edit]:
        """The edits of words that were not modified yet."""
        gone = self.touched
        return [edit for edit in self.edits if not gone & edit.touched]


def attack(attempts: Mapping[int, Attempt], ask: Ask) -> None:
    """Carry out the attempts on documents side by side, so that the questions of a round are asked together.

    In each round the edit after which the right class is least probable is made, even if it is more probable then than
    before. A word is modified at most once.
    """
    while questions := [(index, (*each.made, edit)) for index, each in attempts.items() for edit in _next(each)]:
        answered = zip(questions, ask(questions), strict=True)
        for index, group in groupby(answered, key=lambda pair: pair[0][0]):
            own = list(group)
            (_, made), best = min(own, key=lambda pair: round(pair[1].probability, _DIGITS))
            attempt = attempts[index]
            attempt.made, attempt.fooled, attempt.queries = made, best.fooled, attempt.queries + len(own)


def _next(attempt: Attempt) -> list[Edit]:
    return [] if attempt.fooled else attempt.left


@dataclass(frozen=True)
class Attack(Metric):
    """1 where a right decision is lost by rewriting names, places, numbers and contractions, 0 where it is kept.

    Names of persons, places and numbers have `replacements` others each, drawn once by `seed`; contractions are written
    out, and the other way round. A greedy search makes the edit after which the right class is least probable, one word
    after another, until the model errs or no word is left; a word is modified at most once. `finder` says who finds
    persons and places, `lists` where others come from. Both texts of a pair are attacked, except one that is held.

    Judges the model and not explanations: the scores are not read. Undefined where the model is wrong from the start,
    which the detail `right` says, and where the label is not known. Of attacks the details have the `queries`, the
    first decision among them, and of those that succeed the share of words that were `perturbed`. `words` are all that
    are not punctuation.
    """

    edits: tuple[str, ...] = ("contractions", "names", "numbers", "locations")
    replacements: int = 3
    seed: int = 0
    finder: str = "spacy"
    lists: str = "library"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLASSES, Need.TEXT})
    subject: ClassVar[Subject] = "model"
    meaning: ClassVar[str] = "How often a right decision is lost when names, places, numbers and contractions change."
    weakness: ClassVar[str] = (
        "Says nothing of explanations. Texts in which there is little to rewrite are safe; a number or a name may be "
        "what the label depends on, and then a changed decision is right. English only."
    )
    fewest: ClassVar[int] = 1
    percent: ClassVar[bool] = True
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True
    greater_is_better = False
    presets: ClassVar[Presets] = {"regex": {}}

    def __post_init__(self) -> None:
        check_kinds(self.edits)  # a wrong name is told now, not after everything was explained
        FINDERS.create(self.finder), LISTS.create(self.lists)

    def questions(self, units: int) -> int:
        # A word may belong to a place, be a number and begin a contraction; each round takes a word away, or more.
        return (2 * self.replacements + 1) * units * (units + 1) // 2

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        check_texts(case.batch.examples)
        return case.once(self, lambda: self._attacked(case))

    def _attacked(self, case: Case) -> Measured:
        gold = _gold(case)
        right = [label == found for label, found in zip(gold, case.output.logits.argmax(1).tolist(), strict=True)]
        attempts = {index: Attempt(self._edits(case, index)) for index in range(len(case)) if right[index]}
        attack(attempts, _asking(case, gold))
        return _measured(case, attempts, gold)

    def _edits(self, case: Case, index: int) -> list[Edit]:
        # The generator's seed is made of the text, so that a document's neighbours change nothing.
        chance = Chance("attack", case.generator(index, self.seed).initial_seed())
        means = EditTools(FINDERS.create(self.finder), LISTS.create(self.lists), chance, self.replacements)
        return edits_of(_texts(case.batch.examples[index]), case.batch.units[index], self.edits, means)


def _texts(example: Example) -> dict[str, str]:
    return {field: str(example.inputs[field]) for field in FIELDS if field in example.inputs}


def _gold(case: Case) -> list[int | None]:
    """The right class of each example, where it is known."""
    return [
        None if example.label is None else case.classifier.target_index(example.label, example.id)
        for example in case.batch.examples
    ]


def _asking(case: Case, gold: Sequence[int | None]) -> Ask:
    """How the search asks the model: with rewritten texts, those of all documents together."""

    def ask(questions: Sequence[Question]) -> list[Answer]:
        document = torch.tensor([index for index, _ in questions])
        right = torch.tensor([gold[index] for index, _ in questions])
        texts = [_rewritten(case.batch.examples[index], edits) for index, edits in questions]
        logits = case.engine.predict(case.classifier, texts)
        case.asked.add_(torch.bincount(document, minlength=len(case)))
        probability = logits.softmax(-1).gather(1, right[:, None])[:, 0]
        fooled = logits.argmax(1) != right
        return [Answer(*each) for each in zip(probability.tolist(), fooled.tolist(), strict=True)]

    return ask


def _rewritten(example: Example, edits: Sequence[Edit]) -> Example:
    return replace(example, inputs=rewrite(_texts(example), edits), evidence=())  # marked characters are others now


def _measured(case: Case, attempts: Mapping[int, Attempt], gold: Sequence[int | None]) -> Measured:
    values, queries, perturbed, right = torch.full((4, len(case)), torch.nan)
    words = torch.tensor(
        [float(sum(len(words_of(text)) for text in _texts(each).values())) for each in case.batch.examples]
    )
    for index in range(len(case)):
        if gold[index] is not None:
            right[index] = index in attempts
    for index, attempt in attempts.items():
        values[index] = attempt.fooled
        queries[index] = 1 + attempt.queries
        if attempt.fooled:
            perturbed[index] = len(attempt.touched) / words[index]
    return Measured(values, details={"queries": queries, "perturbed": perturbed, "words": words, "right": right})
