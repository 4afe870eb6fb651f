"""Annotators and examples are drawn again, each as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.core.errors import UsageError
from veridical.people import Ranking
from veridical.people.resamples import Over, drawn_counts, resamples

GRID = [Ranking(f"{example}", f"p{person}", {"a": 1}) for example in range(5) for person in range(3)]


def grid(over: Over, draws: int = 200) -> np.ndarray:
    """The counts as [draws, examples, annotators]."""
    return resamples(GRID, draws, seed=0, over=over).reshape(-1, 5, 3)


def test_a_ranking_counts_as_often_as_its_annotator_times_its_example() -> None:
    counts = grid("both")
    assert (counts.sum(axis=(1, 2)) == 15).all()
    by_example, by_annotator = counts.sum(axis=2) / 3, counts.sum(axis=1) / 5
    assert np.array_equal(counts, by_example[:, :, None] * by_annotator[:, None, :])
    assert (by_example.sum(axis=1) == 5).all()
    assert (by_annotator.sum(axis=1) == 3).all()
    assert len(np.unique(by_example, axis=0)) > 50
    assert len(np.unique(by_annotator, axis=0)) == 10  # all ways to draw 3 of 3


def test_examples_are_drawn_with_all_their_rankings() -> None:
    counts = grid("examples")
    assert (counts == counts[:, :, :1]).all()
    assert (counts[:, :, 0].sum(axis=1) == 5).all()


def test_annotators_are_drawn_with_all_their_rankings() -> None:
    counts = grid("annotators")
    assert (counts == counts[:, :1]).all()
    assert (counts[:, 0].sum(axis=1) == 3).all()


def test_rankings_are_drawn_one_by_one() -> None:
    counts = grid("rankings")
    assert (counts.sum(axis=(1, 2)) == 15).all()
    assert not (counts == counts[:, :1]).all()
    assert not (counts == counts[:, :, :1]).all()


def test_each_counts_once_on_average() -> None:
    for over in ("both", "examples", "annotators", "rankings"):
        assert grid(over, draws=4000).mean(axis=0) == pytest.approx(1, abs=0.1)


def test_with_one_annotator_only_examples_are_drawn() -> None:
    alone = [each for each in GRID if each.annotator == "p0"]
    counts = resamples(alone, 50, seed=0)
    assert (counts.sum(axis=1) == 5).all()
    assert (resamples(alone, 50, seed=0, over="annotators") == 1).all()
    assert (resamples(GRID[:1], 50, seed=0) == 1).all()


def test_a_seed_gives_the_same_draws() -> None:
    assert np.array_equal(resamples(GRID, 20, seed=3), resamples(GRID, 20, seed=3))
    assert not np.array_equal(resamples(GRID, 20, seed=3), resamples(GRID, 20, seed=4))


@pytest.mark.parametrize("draws", [-1, 0, 1])
def test_too_few_draws_are_refused(draws: int) -> None:
    with pytest.raises(UsageError, match=f"draws={draws} is too few"):
        drawn_counts(3, draws, np.random.default_rng(0))


def test_what_else_might_be_drawn_is_refused() -> None:
    with pytest.raises(UsageError, match="over='items' is not possible. over is one of: both, annotators, examples"):
        resamples(GRID, 20, seed=0, over="items")  # type: ignore[arg-type]
