"""In made-up studies the intervals hold the truth about as often as they say; the numbers of the explanation page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from veridical.people import Ranking, Worths, plackett_luce
from veridical.people.resamples import Over

Study = Callable[..., list[Ranking]]

FOUR = [0.6, 0.2, -0.2, -0.6]
SEEDS = range(1001, 1005)


@dataclass(frozen=True)
class Coverage:
    """Over all studies: how often intervals of worths hold the truth, those of all pairs together, and mean errors."""

    worths: float
    pairs: float
    error: float
    """What the studies say of themselves."""
    true_error: float
    """How much their values differ."""


def judged(studies: list[Worths], truth: dict[str, float]) -> Coverage:
    held = [each.low <= truth[each.item] <= each.high for found in studies for each in found.worths]
    pairs = [
        all(pair.low <= truth[pair.first] - truth[pair.second] <= pair.high for pair in found.pairs)
        for found in studies
    ]
    values = np.array([[found[item].value for item in sorted(truth)] for found in studies])
    errors = [each.error for found in studies for each in found.worths]
    spread = float(values.std(axis=0, ddof=1).mean())
    return Coverage(float(np.mean(held)), float(np.mean(pairs)), float(np.mean(errors)), spread)


@lru_cache
def endless(study: Study, of_examples: float, of_annotators: float) -> dict[str, float]:
    """The worths that a study without end would find.

    Where people differ, the worths of all people together are nearer to each other than those of each one.
    """
    parts = [study(FOUR, 100, 100, seed=seed, of_examples=of_examples, of_annotators=of_annotators) for seed in SEEDS]
    found = [plackett_luce(part, draws=2) for part in parts]
    return {item: float(np.mean([each[item].value for each in found])) for item in "ABCD"}


def covered(study: Study, over: Over, studies: int, of_examples: float = 0.0, of_annotators: float = 0.0) -> Coverage:
    """Judge studies of 50 examples and 3 annotators."""
    differing = {"of_examples": of_examples, "of_annotators": of_annotators}
    made = [study(FOUR, 50, 3, seed=seed, **differing) for seed in range(1, studies + 1)]
    found = [plackett_luce(each, over=over, draws=200) for each in made]
    return judged(found, endless(study, **differing))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("over", "examples_differ", "annotators_differ", "worths"),
    [
        ("both", 0.0, 0.0, 1.00),
        ("both", 1.0, 0.0, 0.99),
        ("both", 0.0, 0.5, 0.89),
        ("both", 1.0, 0.5, 0.93),
        ("examples", 0.0, 0.0, 0.97),
        ("examples", 1.0, 0.0, 0.95),
        ("examples", 0.0, 0.5, 0.57),
        ("examples", 1.0, 0.5, 0.76),
        ("rankings", 0.0, 0.0, 0.96),
        ("rankings", 1.0, 0.0, 0.89),
        ("rankings", 0.0, 0.5, 0.57),
        ("rankings", 1.0, 0.5, 0.66),
    ],
)
def test_the_coverage_that_the_explanation_page_tells(
    study: Study, over: Over, examples_differ: float, annotators_differ: float, worths: float
) -> None:
    found = covered(study, over, 200, examples_differ, annotators_differ)
    assert found.worths == pytest.approx(worths, abs=0.02)


def test_where_only_chance_differs_the_intervals_of_single_rankings_are_exact(study: Study) -> None:
    found = covered(study, "rankings", 40)
    assert found.worths == pytest.approx(0.95, abs=0.06)
    assert found.pairs == pytest.approx(0.95, abs=0.1)
    assert found.error == pytest.approx(found.true_error, rel=0.25)


def test_where_people_and_texts_differ_only_drawing_both_covers_the_truth(study: Study) -> None:
    both, single = (covered(study, over, 40, of_examples=1.0, of_annotators=0.5) for over in ("both", "rankings"))
    assert both.worths > 0.85
    assert both.pairs > 0.8
    assert single.worths < 0.75
    assert single.error < 0.6 * single.true_error
