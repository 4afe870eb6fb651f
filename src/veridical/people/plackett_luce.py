"""What rankings say about items: worths by the Plackett-Luce model, with ties, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy import stats
from scipy.sparse import csgraph

from veridical.core.errors import InputError
from veridical.people.davidson_luce import Choices, Numbers, choices_of, covariance, fitted
from veridical.people.partial_ranks import partial_ranks
from veridical.people.ranking import Ranking, in_order
from veridical.people.resamples import Over, resamples

_Z = 1.96
_COVERED = 0.95
_DIGITS = 9


@dataclass(frozen=True)
class Worth:
    """The log worth of an item, with its standard error, its 95% interval, and its rank by these intervals.

    Log worths add up to 0, so that 0 is the average. The error is NaN where there is one annotator and one example.
    """

    item: str
    value: float
    error: float
    low: float
    high: float
    rank: str


@dataclass(frozen=True)
class ItemPair:
    """The difference of two log worths, first less second, with its interval.

    The intervals of all pairs hold together: in 95 of 100 studies none of them misses its true difference (Tukey). So
    `better`, the better item where the interval leaves 0 out, needs no further correction for the number of pairs.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float

    @property
    def chance(self) -> float:
        """How often people prefer the first, of the times that they prefer one of the two."""
        return 1 / (1 + math.exp(-self.difference))

    @property
    def better(self) -> str | None:
        """The better item, None where it cannot be told."""
        return self.first if self.low > 0 else self.second if self.high < 0 else None


@dataclass(frozen=True)
class Worths:
    """What a study found: the worths, best first, all pairs in that order, and what it rests on.

    `ties` says by the size of a tie how prevalent it is. Two items that are equally good tie with probability
    d / (2 + d), where d is the prevalence of ties of 2.
    """

    worths: tuple[Worth, ...]
    pairs: tuple[ItemPair, ...]
    ties: Mapping[int, float]
    rankings: int
    annotators: int
    examples: int

    def __getitem__(self, item: str) -> Worth:
        return {worth.item: worth for worth in self.worths}[item]


def plackett_luce(rankings: Iterable[Ranking], *, draws: int = 1000, seed: int = 0, over: Over = "both") -> Worths:
    """The worths of items by people's rankings, with intervals from a bootstrap over annotators and examples.

    A ranking is a row of choices: the best of all items, then the best of those that are left. An item is chosen in
    proportion to its worth, and a tie is a choice of several items at once (the Davidson-Luce model: Turner et al.
    2020). Items that an annotator left out are not among the choices. Half a win and half a loss against an imagined
    item of worth 1 are added for each item, as the R package PlackettLuce does (`npseudo`). So an item that always wins
    has a finite worth.

    The intervals are about other annotators and other examples of the same kinds. They are too wide, by up to 1.7
    times, where neither annotators nor examples differ by more than chance. With `over="examples"` they are about these
    annotators alone, with `over="annotators"` about these examples. `over="rankings"` draws single rankings, and is too
    narrow where those of an annotator or of an example are alike.
    """
    ordered = in_order(rankings)
    choices = choices_of(ordered)
    _check_connected(ordered, choices.items)
    found = fitted(choices, np.ones((1, len(ordered))))[0]
    items, values = choices.items, _centred(found[: len(choices.items)])
    spread = _covariances(choices, found, resamples(ordered, draws, seed, over))
    best = sorted(range(len(items)), key=lambda at: (-values[at], items[at]))
    names, values, spread = [items[at] for at in best], values[best], spread[:, best][:, :, best]
    return Worths(
        worths=_ranked(names, values, spread),
        pairs=_paired(names, values, spread),
        ties={size: math.exp(log) for size, log in zip(choices.tied, found[len(items) :], strict=True)},
        rankings=len(ordered),
        annotators=len({ranking.annotator for ranking in ordered}),
        examples=len({ranking.example for ranking in ordered}),
    )


def _centred(worths: Numbers) -> Numbers:
    """Only differences of log worths mean something; their mean is set to 0.

    They are rounded, so that items that differ by rounding alone are equal.
    """
    centred: Numbers = np.round(worths - worths.mean(axis=-1, keepdims=True), _DIGITS) + 0.0
    return centred


def _covariances(choices: Choices, found: Numbers, counts: Numbers) -> Numbers:
    """The covariances of log worths, [2, items, items]: by the bootstrap, and by the model itself.

    The bootstrap knows that annotators and examples differ. But where all rankings are the same it sees no doubt at
    all, even if there are only two of them; the model does.
    """
    items = len(choices.items)
    if (counts == 1).all():  # there is one way to draw only, so nothing is known
        return np.full((2, items, items), np.nan)
    drawn = _centred(fitted(choices, counts)[:, :items])
    centre = np.eye(items) - 1 / items
    by_model = centre @ covariance(choices, found)[:items, :items] @ centre
    return np.stack([np.cov(drawn, rowvar=False).reshape(items, items), by_model])


def _ranked(items: Sequence[str], values: Numbers, covariances: Numbers) -> tuple[Worth, ...]:
    """Worths in the order of the items, with intervals and ranks."""
    errors = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2).clip(0).max(axis=0))
    ends = [(float(value - _Z * error), float(value + _Z * error)) for value, error in zip(values, errors, strict=True)]
    ranks = partial_ranks(dict(zip(items, ends, strict=True)))
    found = zip(items, values, errors, ends, strict=True)
    return tuple(Worth(item, float(value), float(error), *both, ranks[item]) for item, value, error, both in found)


def _paired(items: Sequence[str], values: Numbers, covariances: Numbers) -> tuple[ItemPair, ...]:
    """All pairs in the order of the items."""
    pairs = []
    for one, other in combinations(range(len(items)), 2):
        apart = np.zeros(len(items))
        apart[[one, other]] = 1, -1
        margin = _tukey(len(items)) * math.sqrt((apart @ covariances @ apart).clip(0).max())
        gap = float(values[one] - values[other])
        pairs.append(ItemPair(items[one], items[other], gap, gap - margin, gap + margin))
    return tuple(pairs)


@lru_cache
def _tukey(items: int) -> float:
    """In standard errors, how far off the farthest of all pairs is in 95 of 100 studies (Tukey); 1.96 for one pair."""
    return float(stats.studentized_range.ppf(_COVERED, items, np.inf)) / math.sqrt(2)


def _check_connected(rankings: Sequence[Ranking], items: Sequence[str]) -> None:
    """Refuse items that nobody has compared, not even through other items: nothing says which are better."""
    together = np.zeros((len(items), len(items)))
    place = {item: at for at, item in enumerate(items)}
    for ranking in rankings:
        first, *others = [place[item] for item in ranking.ranks]
        together[first, others] = 1
    count, group = csgraph.connected_components(together, directed=False)
    if count > 1:
        one, other = (", ".join(item for item, at in zip(items, group, strict=True) if at == part) for part in (0, 1))
        remedy = "Let somebody rank items of both together, or ask about each part by itself."
        raise InputError(f"nobody compares any of {one} with any of {other}", field="ranks", remedy=remedy)
