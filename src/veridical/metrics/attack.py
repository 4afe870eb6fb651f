"""Attack: small changes that keep the meaning of a text, made until the model is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from veridical.core.component import AtLeastOne, Presets, Seed, Within, option
from veridical.core.values import Example
from veridical.data.dataset import Chance
from veridical.masking import Case
from veridical.metrics.attack_edits import Edit, rewrite, words_of
from veridical.metrics.attack_entities import FINDERS, EditKind, EditTools, FinderName, edits_of
from veridical.metrics.attack_lists import LISTS, ListsName
from veridical.metrics.base import Measured, Metric, Need, Subject, known_gold
from veridical.models.text_rows import FIELDS, Span, check_texts

_DIGITS = 6
"""Smaller differences are rounding, which must not decide between two edits: the first in the text is taken."""


@dataclass(frozen=True)
class Answer:
    """What a model says of a rewritten text: the `probability` of the right class, and whether it is `fooled`."""

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
    """Carry out the attempts on all documents side by side, so that the questions of a round are asked together.

    A greedy search: each round makes the edit after which the right class is least probable. It makes that edit even if
    the right class becomes more probable by it, because the edits together may still succeed.
    """
    while questions := [(index, (*each.made, edit)) for index, each in attempts.items() for edit in _next(each)]:
        answered = zip(questions, ask(questions), strict=True)
        # Questions come document by document, so grouping by neighbours gives each document its own.
        for index, group in groupby(answered, key=lambda pair: pair[0][0]):
            own = list(group)
            (_, made), best = min(own, key=lambda pair: round(pair[1].probability, _DIGITS))
            attempt = attempts[index]
            attempt.made, attempt.fooled, attempt.queries = made, best.fooled, attempt.queries + len(own)


def _next(attempt: Attempt) -> list[Edit]:
    """The edits to try in the next round; none once the model is fooled."""
    return [] if attempt.fooled else attempt.left


@dataclass(frozen=True)
class Attack(Metric):
    """1 where a right decision is lost by rewriting names, places, numbers and contractions, 0 where it is kept.

    A greedy search makes the edit after which the right class is least probable, one word after another, until the
    model is wrong or no word is left (REGEX; CheckList: Ribeiro et al. 2020). A word is modified at most once. Both
    texts of a pair are attacked, except a held one.

    It judges the model and not explanations: the scores are not read. It needs one class for each text: a model that
    gives several labels is asked about each of them, and then a text would be attacked, and count, as often as it has
    labels. Undefined where the model is wrong from the start
    (the detail `right` is 0) and where the label is not known. Further details: `queries`, the questions of an attack
    with the first decision among them; `perturbed`, the share of words that a successful attack modified; `words`, the
    number of words without punctuation.
    """

    edits: Annotated[tuple[EditKind, ...], AtLeastOne()] = option(
        ("contractions", "names", "numbers", "locations"), "What is rewritten; contractions are made and written out."
    )
    replacements: Annotated[int, Within(1, 100)] = option(
        3, "How many others are tried for each name, place and number; more find more weak points and ask more."
    )
    seed: Seed = option(0, "Decides which replacements are drawn; the same text always gets the same.")
    finder: FinderName = option("spacy", "What finds persons and places; `rules` needs no library and misses more.")
    lists: ListsName = option("library", "Where other names and places come from; `short` needs no library.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ONE_CLASS, Need.TEXT})
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

    def questions(self, units: int) -> int:
        # The most edits of one word are two kinds with all replacements, and a contraction. Each round uses up one
        # word at least, so the questions of all rounds are at most those for n, n - 1, ..., 1 words.
        return (2 * self.replacements + 1) * units * (units + 1) // 2

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        check_texts(case.batch.examples)
        # The scores play no part: all methods of an audit share one attack.
        return case.once(self, lambda: self._attacked(case))

    def _attacked(self, case: Case) -> Measured:
        gold = known_gold(case)
        right = [label == found for label, found in zip(gold, case.output.logits.argmax(1).tolist(), strict=True)]
        attempts = {index: Attempt(self._edits(case, index)) for index in range(len(case)) if right[index]}
        attack(attempts, _asking(case, gold))
        return _measured(case, attempts, gold)

    def _edits(self, case: Case, index: int) -> list[Edit]:
        # The generator's seed is made of the text, so that a document's neighbours change nothing.
        chance = Chance("attack", case.generator(index, self.seed).initial_seed())
        tools = EditTools(FINDERS.create(self.finder), LISTS.create(self.lists), chance, self.replacements)
        return edits_of(_texts(case.batch.examples[index]), case.batch.units[index], self.edits, tools)


def _texts(example: Example) -> dict[str, str]:
    return {field: str(example.inputs[field]) for field in FIELDS if field in example.inputs}


def _asking(case: Case, gold: Sequence[int | None]) -> Ask:
    """How the search asks the model: with rewritten texts, those of all documents together."""

    def ask(questions: Sequence[Question]) -> list[Answer]:
        document = torch.tensor([index for index, _ in questions])
        right = torch.tensor([gold[index] for index, _ in questions])
        texts = [_rewritten(case.batch.examples[index], edits) for index, edits in questions]
        logits = case.logits_of_rewritten(document, texts)
        probability = logits.softmax(-1).gather(1, right[:, None])[:, 0]  # [N]: of the right class
        fooled = logits.argmax(1) != right
        return [Answer(*each) for each in zip(probability.tolist(), fooled.tolist(), strict=True)]

    return ask


def _rewritten(example: Example, edits: Sequence[Edit]) -> Example:
    # The evidence is dropped, because its spans of characters would point to other words in the new text.
    return replace(example, inputs=rewrite(_texts(example), edits), evidence=())


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
        queries[index] = 1 + attempt.queries  # the first decision was a question, too
        if attempt.fooled:
            perturbed[index] = len(attempt.touched) / words[index]
    return Measured(values, details={"queries": queries, "perturbed": perturbed, "words": words, "right": right})
