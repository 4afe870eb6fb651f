"""Made-up studies, in which the true log worths of items are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from veridical.people import Ranking, competition_ranks

Study = Callable[..., list[Ranking]]


def made(
    worths: Sequence[float],
    examples: int,
    annotators: int,
    seed: int,
    *,
    step: float = 0.0,
    of_examples: float = 0.0,
    of_annotators: float = 0.0,
) -> list[Ranking]:
    """Each annotator ranks the items A, B, C... of each example, by the Plackett-Luce model.

    Gumbel noise makes it that model. Performances are rounded to a `step`, which makes ties; worths differ between
    examples, and between annotators, by the deviations given.
    """
    generator, size = np.random.default_rng(seed), len(worths)
    shown = np.array(worths) + generator.gumbel(size=(examples, annotators, size))
    shown = shown + generator.normal(0, of_examples, (examples, 1, size))
    shown = shown + generator.normal(0, of_annotators, (1, annotators, size))
    shown = np.round(shown / step) if step else shown
    names = "ABCDEFGH"[:size]
    return [
        Ranking(f"{example:04d}", f"p{person}", competition_ranks(dict(zip(names, -performance, strict=True))))
        for example, row in enumerate(shown)
        for person, performance in enumerate(row)
    ]


@pytest.fixture
def study() -> Study:
    return made
