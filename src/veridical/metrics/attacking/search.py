"""The greedy search: make the edit that hurts most, then the next, until the model is fooled.

Knows nothing of models: it is handed a function that answers questions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from veridical.metrics.attacking.edits import Edit
from veridical.models.words import Span

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
