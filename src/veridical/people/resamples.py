"""Resampled rankings: how often each counts when annotators and examples are drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.errors import UsageError
from veridical.people.ranking import Ranking

Numbers = NDArray[np.float64]
Over = Literal["both", "examples", "annotators", "rankings"]


def resamples(rankings: Sequence[Ranking], draws: int, seed: int, over: Over = "both") -> Numbers:
    """How often each ranking counts in each draw, [draws, rankings].

    A draw takes as many annotators as there are, with replacement, and as many examples. A ranking counts as often as
    its annotator was drawn times as often as its example was (the pigeonhole bootstrap: Owen 2007).
    """
    annotators, examples = ([getattr(each, name) for each in rankings] for name in ("annotator", "example"))
    resampled = {
        "both": (annotators, examples),
        "annotators": (annotators,),
        "examples": (examples,),
        "rankings": (range(len(rankings)),),
    }
    if over not in resampled:
        raise UsageError(f"over={over!r} is not possible", remedy=f"over is one of: {', '.join(resampled)}.")
    counts = np.ones((draws, len(rankings)))
    for part, names in enumerate(resampled[over]):
        known = {name: place for place, name in enumerate(dict.fromkeys(names))}
        # Each has its own stream, so the draws of one do not depend on how many there are of the other.
        drawn = drawn_counts(len(known), draws, np.random.default_rng([seed, part]))
        counts *= drawn[:, [known[name] for name in names]]
    return counts


def drawn_counts(size: int, draws: int, generator: np.random.Generator) -> Numbers:
    """How often each of some things is drawn, [draws, size], when as many are drawn with replacement."""
    if draws < 2:
        raise UsageError(f"draws={draws} is too few", remedy="Take 1000 draws, or at least 2.")
    return generator.multinomial(size, np.full(size, 1 / size), size=draws).astype(float)
