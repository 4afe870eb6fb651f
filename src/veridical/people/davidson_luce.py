"""The Davidson-Luce model: choices one after another, by worths, where several items may be chosen at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from veridical.core.errors import InputError
from veridical.people.ranking import Ranking, items_of

Numbers = NDArray[np.float64]

PSEUDO = 0.5
"""How often each item wins and loses against the ghost, an imagined item of log worth 0."""

_RIDGE = 1e-4
"""Keeps the prevalence of ties finite where a resample has no tie of a size, or nothing else."""

_MOST_OPTIONS = 30_000
"""Nine items and ties of all sizes; more would take many minutes."""

_PORTION = 4_000_000
"""How many numbers are held at once, one for each draw, option and parameter: 32 MB."""

_MOST_STEPS, _LONGEST_STEP, _TOLERANCE, _TINY = 200, 2.0, 1e-7, 1e-9

Places = tuple[int, ...]
"""Some of the items, by their places in the list of items."""


@dataclass(frozen=True)
class Choices:
    """Rankings as choices: the best of all items, then the best of those that are left, until none or one is left.

    The P parameters are the log worth of each item, then the log prevalence of each size of ties. `chosen` [R, P] adds
    up what each ranking chose, `sets` [R, S] counts from which sets of items. `options` [T, P] are all that may be
    chosen, set by set, and `set_of` [T] says from which. The last rankings are those with the ghost, two for each item.
    """

    items: tuple[str, ...]
    tied: tuple[int, ...]
    chosen: Numbers
    sets: Numbers
    options: Numbers
    set_of: NDArray[np.int_]

    @cached_property
    def squares(self) -> Numbers:
        """The products of every two features of each option, [T, P * P]."""
        return (self.options[:, :, None] * self.options[:, None, :]).reshape(len(self.options), -1)


def choices_of(rankings: Sequence[Ranking]) -> Choices:
    """The choices that rankings are made of."""
    items = items_of(rankings)
    place = {item: at for at, item in enumerate(items)}
    groups = [[tuple(place[item] for item in group) for group in ranking.groups] for ranking in rankings]
    steps = [_steps(each) for each in [*groups, *_with_ghost(len(items))]]
    tied = tuple(sorted({len(best) for each in steps for best, _ in each} - {1}))
    lefts = {left: at for at, left in enumerate(dict.fromkeys(left for each in steps for _, left in each))}
    _check_size(lefts, tied)
    options = [_options(left, tied) for left in lefts]
    return Choices(
        items,
        tied,
        chosen=np.stack([_features([best for best, _ in each], len(items), tied).sum(0) for each in steps]),
        sets=np.stack([np.bincount([lefts[left] for _, left in each], minlength=len(lefts)) for each in steps]),
        options=np.concatenate([_features(each, len(items), tied) for each in options]),
        set_of=np.repeat(np.arange(len(options)), [len(each) for each in options]),
    )


def _options(left: Places, tied: Sequence[int]) -> list[Places]:
    """All that may be chosen from what is left: one item, or as many as have been seen in a tie."""
    found: list[Places] = []
    for size in (1, *tied):
        found += combinations(left, size)
    return found


def _with_ghost(items: int) -> list[list[Places]]:
    """For each item a win and a loss against the ghost, whose place is after the last item."""
    ghost: Places = (items,)
    singles: list[Places] = [(item,) for item in range(items)]
    return [order for single in singles for order in ([single, ghost], [ghost, single])]


def _steps(groups: Sequence[Places]) -> list[tuple[Places, Places]]:
    """Each choice of a ranking: what was chosen as the best, and what it was chosen from."""
    lefts = [tuple(sorted(item for group in groups[at:] for item in group)) for at in range(len(groups))]
    return [(best, left) for best, left in zip(groups, lefts, strict=True) if len(left) > 1]


def _features(bests: Sequence[Places], items: int, tied: Sequence[int]) -> Numbers:
    """What multiplies the parameters in the logarithm of an option's weight, [bests, P].

    Several items chosen together weigh as much as the geometric mean of their worths, times the prevalence of ties.
    """
    features = np.zeros((len(bests), items + 1 + len(tied)))
    for row, best in zip(features, bests, strict=True):
        row[list(best)] = 1 / len(best)
        if len(best) > 1:
            row[items + 1 + tied.index(len(best))] = 1
    return np.delete(features, items, axis=1)  # the ghost's log worth is 0


def _check_size(lefts: Iterable[Places], tied: Sequence[int]) -> None:
    options = {left: sum(comb(len(left), size) for size in (1, *tied)) for left in lefts}
    if sum(options.values()) > _MOST_OPTIONS:
        most = max(options, key=options.__getitem__)
        problem = f"with ties of up to {tied[-1]}, " if tied else ""
        problem += f"a choice among {len(most)} items has {options[most]:,} possible outcomes"
        raise InputError(f"{problem}, which are too many", remedy="Have fewer items ranked at a time.")


def fitted(choices: Choices, weights: Numbers, pseudo: float = PSEUDO) -> Numbers:
    """The parameters [draws, P] of greatest likelihood when rankings count by `weights` [draws, rankings].

    Each item also wins and loses `pseudo` times against the ghost. That pulls all worths a little together, and an item
    that always wins has a finite worth. It is what `npseudo` is in the R package PlackettLuce.
    """
    counts = _with_pseudo(choices, weights, pseudo)
    rows = max(1, _PORTION // choices.options.size)
    parts = [counts[start : start + rows] for start in range(0, len(counts), rows)]
    return np.concatenate([_climbed(choices, part @ choices.chosen, part @ choices.sets) for part in parts])


def _with_pseudo(choices: Choices, weights: Numbers, pseudo: float) -> Numbers:
    """The weights with those of the rankings with the ghost."""
    return np.concatenate([weights, np.full((len(weights), 2 * len(choices.items)), pseudo)], axis=1)


def covariance(choices: Choices, found: Numbers) -> Numbers:
    """The covariance of the parameters found from all rankings, [P, P], by the model: rankings are independent."""
    counts = _with_pseudo(choices, np.ones((1, len(choices.chosen) - 2 * len(choices.items))), PSEUDO)
    _, curvature = _derivatives(choices, found[None], counts @ choices.chosen, counts @ choices.sets)
    inverse: Numbers = np.linalg.inv(curvature[0])
    return inverse


def _climbed(choices: Choices, chosen: Numbers, sets: Numbers) -> Numbers:
    """Newton's method for all draws at once; the likelihood is concave, so there is one top."""
    found, left = np.zeros_like(chosen), np.arange(len(chosen))
    for _ in range(_MOST_STEPS):
        gradient, curvature = _derivatives(choices, found[left], chosen[left], sets[left])
        far = np.abs(gradient).max(axis=1) > _TOLERANCE
        left = left[far]
        if not left.size:
            return found
        step = np.linalg.solve(curvature[far], gradient[far][..., None])[..., 0]
        # Far from the top a step may be much too long.
        found[left] += step * np.minimum(1, _LONGEST_STEP / np.abs(step).max(axis=1, keepdims=True))
    raise InputError("no worths fit these rankings best", remedy="Please report this with the rankings.")


def _derivatives(choices: Choices, found: Numbers, chosen: Numbers, sets: Numbers) -> tuple[Numbers, Numbers]:
    """The gradient [draws, P] of the log-likelihood, and its negative second derivative [draws, P, P].

    For a choice they are what was chosen less what was to be expected, and the variance of what may be chosen.
    """
    options, parameters = choices.options, choices.options.shape[1]
    starts = np.searchsorted(choices.set_of, np.arange(sets.shape[1]))
    weights = np.exp(found @ options.T)  # [draws, T]
    chances = weights / np.add.reduceat(weights, starts, axis=1)[:, choices.set_of]
    means = np.add.reduceat(chances[..., None] * options, starts, axis=1)  # [draws, S, P]
    expected = chances * sets[:, choices.set_of]
    curvature = (expected @ choices.squares).reshape(-1, parameters, parameters)
    curvature -= np.swapaxes(means * sets[..., None], 1, 2) @ means
    ridge = np.where(np.arange(parameters) < len(choices.items), 0.0, _RIDGE)
    # The tiny number changes no result; without it a draw that says nothing of a parameter could not be solved.
    return chosen - expected @ options - ridge * found, curvature + np.diag(ridge + _TINY)
