"""Do margins hold the truth as often as they say? How many 95% intervals of KernelSHAP have the exact value in them.

Games by chance of 12 words have exact values by asking about all subsets, and so have some short texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from accuracy import texts_of
from estimators import bound
from games import Game, exact_game, table_game
from record import Row, show, write
from workload import Sizes, trained

from veridical.explainers import EXPLAINERS
from veridical.models import Classifier

LEAST = 0.94
"""The share of intervals that should hold the truth is 95%, and chance in the measurement needs some room."""

WORDS = 12
Values = np.ndarray


def measure(sizes: Sizes) -> bool:
    """All rows of this part, printed and recorded; whether every bar holds."""
    chance = np.random.default_rng(0)
    games = {kind: [_drawn(make, chance) for _ in range(sizes.margin_games)] for kind, make in KINDS.items()}
    classifier = Classifier.load(str(trained(sizes.train_on)))
    games["texts"] = [exact_game(classifier, example, "logit") for example in texts_of(classifier, sizes.exact_words)]
    rows = show(_rows(games, sizes))
    if sizes.writes:
        write("margins", rows)
    return all(row.holds for row in rows)


def _rows(games: dict[str, list[Game]], sizes: Sizes) -> Iterator[Row]:
    for fit in ("process", "regression"):
        for options in ("samples=100, tolerance=0.0", "samples=300, tolerance=0.0", "samples=2000"):
            method = f"kernel-shap({options}, fit={fit}"
            found = {kind: _coverage(f"{method}, seed=", each, sizes.margin_seeds) for kind, each in games.items()}
            shares = {kind: round(share, 3) for kind, share in found.items()}
            told = ", ".join(f"{kind} {share:.3f}" for kind, share in shares.items())
            mean = float(np.mean(list(found.values())))
            yield Row(f"{method})", round(mean, 3), told, at_least=LEAST, facts=shares)


def _coverage(method: str, games: list[Game], seeds: int) -> float:
    """The share of intervals that hold the exact value; those of exact values, whose margins are 0, do not count."""
    inside = []
    for game in games:
        for seed in range(seeds):
            scores = EXPLAINERS.create(f"{method}{seed})").scores(bound(game))
            values, margins = (part[0].double().numpy() for part in (scores.values, scores.margins))
            inside += [np.abs(values - game.values) <= margins] if margins.any() else []
    return float(np.concatenate(inside).mean())


def _interactions(keep: Values, chance: np.random.Generator) -> Values:
    """Forty sets of one to four words; the larger, the weaker."""
    total = np.zeros(len(keep))
    for _ in range(40):
        size = chance.integers(1, 5)
        total += chance.normal() / size * keep[:, chance.choice(WORDS, size, replace=False)].prod(1)
    return total


def _saturating(keep: Values, chance: np.random.Generator) -> Values:
    """Words whose sum goes through a tanh, as evidence does in a model that is sure."""
    weights = chance.normal(size=WORDS) * (chance.random(WORDS) < 0.6) + 0.1 * chance.normal(size=WORDS)
    return 2 * np.tanh(1.5 * (keep @ weights) + chance.normal()) + 0.3 * (keep @ chance.normal(size=WORDS))


def _network(keep: Values, chance: np.random.Generator) -> Values:
    """Two layers of random weights, and a linear part."""
    first = np.tanh(0.8 * (keep @ chance.normal(size=(WORDS, 16))) + chance.normal(size=16))
    second = np.tanh(first @ chance.normal(size=(16, 16)) / 2)
    return second @ chance.normal(size=16) + 0.5 * (keep @ chance.normal(size=WORDS))


def _noise(keep: Values, chance: np.random.Generator) -> Values:
    """A linear part, and a number by chance for every coalition."""
    return keep @ chance.normal(size=WORDS) + chance.normal(size=len(keep))


KINDS: dict[str, Callable[[Values, np.random.Generator], Values]] = {
    "interactions": _interactions,
    "saturating": _saturating,
    "network": _network,
    "noise": _noise,
}


def _drawn(make: Callable[[Values, np.random.Generator], Values], chance: np.random.Generator) -> Game:
    every = ((np.arange(2**WORDS)[:, None] >> np.arange(WORDS)) & 1).astype(float)  # [2^M, M]
    return table_game(make(every, chance))
