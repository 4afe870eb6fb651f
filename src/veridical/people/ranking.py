"""One person's ranking of some items, and what makes it valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from numbers import Integral
from typing import Any

from veridical.core.errors import InputError


@dataclass(frozen=True)
class Ranking:
    """What one annotator said of one example: a rank for each item, 1 for the best.

    Items may share a rank. The rank after them counts all of them, as in a competition: 1, 1, 3, 4. An annotator may
    leave items out; what is left out counts as not judged, and not as worse.

    >>> Ranking("17", "ada", {"lime": 1, "attention": 3, "occlusion": 1})
    """

    example: str
    annotator: str
    ranks: Mapping[str, int]

    def __post_init__(self) -> None:
        if not self.ranks:
            raise self._refused("ranks nothing", "Leave out rankings without items.")
        odd = [item for item, rank in self.ranks.items() if not _is_whole(rank)]
        if odd:
            told = f"gives {odd[0]!r} the rank {self.ranks[odd[0]]!r}"
            raise self._refused(told, "A rank is a whole number; 1 is the best.")
        # Copied, so that nobody changes a checked ranking; numbers of numpy become Python's.
        object.__setattr__(self, "ranks", {item: int(rank) for item, rank in self.ranks.items()})
        meant = competition_ranks(self.ranks)
        if meant != self.ranks:
            remedy = f"The best rank is 1, and the rank after shared ones counts all items before it: {_told(meant)}."
            raise self._refused(f"gives ranks that do not fit together: {_told(self.ranks)}", remedy)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The items, best first; those that share a rank are in one group, by name."""
        ordered = sorted(self.ranks, key=lambda item: (self.ranks[item], item))
        return tuple(tuple(group) for _, group in groupby(ordered, key=self.ranks.__getitem__))

    def _refused(self, problem: str, remedy: str) -> InputError:
        problem = f"annotator {self.annotator!r} {problem}"
        return InputError(problem, example=str(self.example), field="ranks", remedy=remedy)


def competition_ranks(values: Mapping[str, float]) -> dict[str, int]:
    """The rank of each item by its value, the smallest first: one more than the number of items before it.

    Equal values share a rank. Give the negative of what is better when it is higher.

    >>> competition_ranks({"a": 0.2, "b": 0.7, "c": 0.2})
    {'a': 1, 'b': 3, 'c': 1}
    """
    unknown = [item for item, value in values.items() if value != value]
    if unknown:
        raise InputError(f"{unknown[0]!r} has no value to rank it by", remedy="Leave out items without a value.")
    ordered = sorted(values.values())
    return {item: 1 + ordered.index(value) for item, value in values.items()}


def in_order(rankings: Iterable[Ranking]) -> tuple[Ranking, ...]:
    """The rankings by example and annotator. None at all are refused, and two by one annotator of one example."""
    ordered = tuple(sorted(rankings, key=lambda ranking: (ranking.example, ranking.annotator)))
    if not ordered:
        raise InputError("there are no rankings", remedy="Give at least one.")
    for one, other in pairwise(ordered):
        if (one.example, one.annotator) == (other.example, other.annotator):
            problem = f"annotator {one.annotator!r} ranks it twice"
            raise InputError(problem, example=one.example, remedy="Keep one ranking, such as the last.")
    return ordered


def items_of(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """All items that are ranked anywhere, by name."""
    return tuple(sorted({item for ranking in rankings for item in ranking.ranks}))


def _is_whole(rank: Any) -> bool:
    return isinstance(rank, Integral) and not isinstance(rank, bool)


def _told(ranks: Mapping[str, int]) -> str:
    return ", ".join(f"{item} {rank}" for item, rank in sorted(ranks.items(), key=lambda each: (each[1], each[0])))
