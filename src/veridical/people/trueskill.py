"""TrueSkill (Herbrich, Minka and Graepel 2006), as human studies have published it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy import special

from veridical.people.partial_ranks import partial_ranks
from veridical.people.ranking import Ranking, in_order, items_of

MU, SIGMA = 0.0, 0.5
"""What is believed of an item before its first match."""

# The defaults of the package `trueskill`, which are meant for a starting sigma of 25/3 and not of .5. Published numbers
# were made with them.
_BETA, _TAU, _DRAW = 25 / 6, 25 / 300, 0.1
_MARGIN = math.sqrt(2) * _BETA * float(special.ndtri((1 + _DRAW) / 2))
"""Performances that differ by less are a draw."""

_Z = 1.96
_MOST_SWEEPS, _TOLERANCE = 100, 1e-9

Belief = tuple[float, float]
"""What is known of a skill: its mean and its deviation."""


@dataclass(frozen=True)
class Rating:
    """An item's mean `mu` and deviation `sigma`, with mu +/- 1.96 sigma, and its rank by these intervals."""

    item: str
    mu: float
    sigma: float
    low: float
    high: float
    rank: str


def trueskill(rankings: Iterable[Ranking]) -> tuple[Rating, ...]:
    """The ratings of items, best first, by one TrueSkill match for each ranking.

    This is for comparison with published tables; `plackett_luce` is the better statistic, for two reasons. `sigma` is
    no standard error: after some 60 matches it is about .65, and more matches do not make it smaller, as each match
    adds a little doubt (tau). And `mu` depends on the order of the matches, as later ones count more. Matches are
    played by example, then by annotator, each sorted by name.

    Every item begins at mu 0 and sigma .5. Constants: beta 25/6, tau 25/300, draw probability .1.
    """
    ordered = in_order(rankings)
    beliefs = dict.fromkeys(items_of(ordered), (MU, SIGMA))
    for ranking in ordered:
        # Tied items stand by name, so the order in which a ranking was written down changes nothing.
        players = [item for group in ranking.groups for item in group]
        if len(players) < 2:
            continue  # no match, and so no doubt is added either
        found = free_for_all([beliefs[item] for item in players], [ranking.ranks[item] for item in players])
        beliefs.update(zip(players, found, strict=True))
    ends = {item: (mu - _Z * sigma, mu + _Z * sigma) for item, (mu, sigma) in beliefs.items()}
    ranks = partial_ranks(ends)
    ratings = [Rating(item, *beliefs[item], *ends[item], ranks[item]) for item in beliefs]
    return tuple(sorted(ratings, key=lambda rating: (-rating.mu, rating.item)))


@dataclass(frozen=True)
class _Gauss:
    """A normal distribution by its precision and its precision times its mean, so that products are sums.

    With a precision of 0 it says nothing.
    """

    precision: float = 0.0
    weighted: float = 0.0

    @classmethod
    def of(cls, mean: float, variance: float) -> _Gauss:
        return cls(1 / variance, mean / variance)

    @property
    def mean(self) -> float:
        return self.weighted / self.precision

    @property
    def variance(self) -> float:
        return 1 / self.precision

    def __mul__(self, other: _Gauss) -> _Gauss:
        return _Gauss(self.precision + other.precision, self.weighted + other.weighted)

    def __truediv__(self, other: _Gauss) -> _Gauss:
        return _Gauss(self.precision - other.precision, self.weighted - other.weighted)

    def blurred(self, variance: float) -> _Gauss:
        """The distribution of the same quantity with noise added to it."""
        share = 1 / (1 + self.precision * variance)
        return _Gauss(self.precision * share, self.weighted * share)


def free_for_all(beliefs: Sequence[Belief], ranks: Sequence[int]) -> list[Belief]:
    """The beliefs about players after one match, by expectation propagation; the best comes first.

    A player performs by its skill and noise of deviation beta. Neighbours in the ranking differ by more than the draw
    margin, or by less where they tie. What each such comparison says of its two players depends on what all others say,
    so the comparisons are gone through forth and back until nothing changes.
    """
    skills = [_Gauss.of(mu, sigma**2 + _TAU**2) for mu, sigma in beliefs]
    performances = [skill.blurred(_BETA**2) for skill in skills]
    said = [(_Gauss(), _Gauss())] * (len(beliefs) - 1)  # by each comparison, of its better and of its worse player
    for _ in range(_MOST_SWEEPS):
        before = list(said)
        for at in [*range(len(said)), *reversed(range(len(said)))]:
            better, worse = performances[at] / said[at][0], performances[at + 1] / said[at][1]
            said[at] = _compared(better, worse, tied=ranks[at] == ranks[at + 1])
            performances[at], performances[at + 1] = better * said[at][0], worse * said[at][1]
        if _change(before, said) < _TOLERANCE:
            break
    return [_learned(skill, performance) for skill, performance in zip(skills, performances, strict=True)]


def _learned(skill: _Gauss, performance: _Gauss) -> Belief:
    """The belief about a skill, by what the comparisons say of its performance."""
    found = skill * (performance / skill.blurred(_BETA**2)).blurred(_BETA**2)
    return found.mean, math.sqrt(found.variance)


def _compared(better: _Gauss, worse: _Gauss, tied: bool) -> tuple[_Gauss, _Gauss]:
    """What a comparison says of its two players, by what the other comparisons say of them."""
    spread = math.sqrt(better.variance + worse.variance)
    gap = (better.mean - worse.mean) / spread
    shift, shrink = (_drawn if tied else _won)(gap, _MARGIN / spread)
    # What is learned of the difference of the two: its distribution given the result, over that before it.
    precision = shrink / (1 - shrink) / spread**2
    weighted = (shift + gap * shrink) / (1 - shrink) / spread
    of_better = _Gauss(precision, weighted + precision * worse.mean).blurred(worse.variance)
    of_worse = _Gauss(precision, precision * better.mean - weighted).blurred(better.variance)
    return of_better, of_worse


def _won(gap: float, margin: float) -> tuple[float, float]:
    """By how much a standard normal difference moves, and its variance shrinks, when it exceeds the margin."""
    above = gap - margin
    shift = math.exp(_log_density(above) - float(special.log_ndtr(above)))
    return shift, shift * (shift + above)


def _drawn(gap: float, margin: float) -> tuple[float, float]:
    """The same when the difference is below the margin, whoever is ahead."""
    size = abs(gap)  # of two tails the small ones are subtracted, and in logarithms, which is exact for large gaps, too
    inner, outer = float(special.log_ndtr(margin - size)), float(special.log_ndtr(-margin - size))
    chance = inner + math.log1p(-math.exp(outer - inner))
    near, far = math.exp(_log_density(size - margin) - chance), math.exp(_log_density(size + margin) - chance)
    shift = far - near
    shrink = shift**2 + (margin - size) * near + (margin + size) * far
    return math.copysign(shift, -gap), shrink


def _log_density(x: float) -> float:
    return -(x**2 + math.log(2 * math.pi)) / 2


def _change(before: Sequence[tuple[_Gauss, _Gauss]], after: Sequence[tuple[_Gauss, _Gauss]]) -> float:
    pairs = [(a, b) for one, other in zip(before, after, strict=True) for a, b in zip(one, other, strict=True)]
    return max((max(abs(a.precision - b.precision), abs(a.weighted - b.weighted)) for a, b in pairs), default=0.0)
