"""Our TrueSkill is that of the package, the published numbers come out, and its sigma is no standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import trueskill as published

from veridical.core.errors import InputError
from veridical.people import Ranking, Rating, trueskill
from veridical.people.trueskill import MU, SIGMA, Belief, free_for_all

PUBLISHED = published.TrueSkill(mu=0, sigma=0.5, beta=25 / 6, tau=25 / 300, draw_probability=0.1)
NEW = (MU, SIGMA)


def theirs(beliefs: Sequence[Belief], ranks: Sequence[int]) -> np.ndarray:
    teams = [(PUBLISHED.create_rating(*belief),) for belief in beliefs]
    return np.array([(team[0].mu, team[0].sigma) for team in PUBLISHED.rate(teams, ranks=list(ranks))])


def columns(ratings: Sequence[Rating]) -> tuple[list[float], list[float]]:
    return [rating.mu for rating in ratings], [rating.sigma for rating in ratings]


def test_one_win() -> None:
    found = trueskill([Ranking("1", "ada", {"a": 1, "b": 2})])
    assert columns(found)[0] == pytest.approx([0.03805, -0.03805], abs=5e-6)
    assert columns(found)[1] == pytest.approx([0.50567, 0.50567], abs=5e-6)


def test_one_ranking_of_four() -> None:
    found = trueskill([Ranking("1", "ada", {"a": 1, "b": 2, "c": 3, "d": 4})])
    assert columns(found)[0] == pytest.approx([0.07292, 0.02165, -0.02165, -0.07292], abs=5e-6)
    assert columns(found)[1] == pytest.approx([0.50489, 0.50446, 0.50446, 0.50489], abs=6e-6)


def test_a_tie_for_the_second_place() -> None:
    found = trueskill([Ranking("1", "ada", {"a": 1, "b": 2, "c": 2})])
    assert columns(found)[0] == pytest.approx([0.045, -0.022, -0.022], abs=1e-3)


def test_sixty_rankings_that_are_the_same() -> None:
    found = trueskill([Ranking(f"{at:02d}", "ada", {"a": 1, "b": 2, "c": 3, "d": 4}) for at in range(60)])
    assert columns(found)[0] == pytest.approx([4.515, 1.305, -1.305, -4.515], abs=5e-4)
    assert columns(found)[1] == pytest.approx([0.670, 0.640, 0.640, 0.670], abs=5e-4)


@pytest.mark.parametrize("seed", range(40))
def test_one_match_agrees_with_the_package(seed: int) -> None:
    """Players of all kinds, and ties. The package's normal distribution is exact to 7 digits."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 8))
    beliefs = [*zip(generator.normal(0, 4, size), generator.uniform(0.2, 4, size), strict=True)]
    ranks = sorted(generator.integers(1, size + 1, size))
    found = np.array(free_for_all(beliefs, ranks))
    assert found == pytest.approx(theirs(beliefs, ranks), abs=1e-5)


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_a_study_agrees_with_the_package(study: Callable[..., list[Ranking]], step: float) -> None:
    rankings = study([1, 0.3, -0.3, -1], 30, 2, seed=1, step=step)
    beliefs = dict.fromkeys("ABCD", NEW)
    for ranking in sorted(rankings, key=lambda each: (each.example, each.annotator)):
        players = sorted(ranking.ranks, key=lambda item: (ranking.ranks[item], item))
        found = theirs([beliefs[item] for item in players], [ranking.ranks[item] for item in players])
        beliefs.update({item: tuple(belief) for item, belief in zip(players, found, strict=True)})
    for rating in trueskill(rankings):
        assert (rating.mu, rating.sigma) == pytest.approx(beliefs[rating.item], abs=1e-5)


def test_a_draw_between_equals_moves_nobody() -> None:
    (one, other) = free_for_all([NEW, NEW], [1, 1])
    assert one[0] == other[0] == pytest.approx(0)
    assert one[1] == other[1] < np.hypot(0.5, 25 / 300)


def test_a_draw_draws_two_players_together() -> None:
    (better, worse) = free_for_all([(3.0, 1.0), (-1.0, 1.0)], [1, 1])
    assert better[0] < 3
    assert worse[0] > -1
    assert better[0] - 3 == pytest.approx(-(worse[0] + 1))
    assert free_for_all([(-1.0, 1.0), (3.0, 1.0)], [1, 1])[1] == pytest.approx(better)


@pytest.mark.parametrize("ranks", [[1, 2], [1, 1]])
@pytest.mark.parametrize("gap", [-300.0, 300.0])
def test_results_that_nobody_would_expect_give_numbers(ranks: list[int], gap: float) -> None:
    found = free_for_all([(gap, 0.5), (0.0, 0.5)], ranks)
    assert np.isfinite(found).all()
    assert all(sigma > 0 for _, sigma in found)


def test_the_published_way_to_write_a_rank() -> None:
    """An item that always wins is alone at the top after many matches; two that take turns share a rank."""
    turns = [{"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 2}]
    found = trueskill([Ranking(f"{at:02d}", "ada", turns[at % 2]) for at in range(60)])
    assert {rating.item: rating.rank for rating in found} == {"a": "1", "b": "2-3", "c": "2-3"}
    assert all(rating.low == pytest.approx(rating.mu - 1.96 * rating.sigma) for rating in found)
    assert all(rating.high == pytest.approx(rating.mu + 1.96 * rating.sigma) for rating in found)


def test_matches_are_played_by_example_and_annotator_however_they_are_given() -> None:
    ranks = [{"a": 1, "b": 2, "c": 3}, {"c": 1, "b": 1, "a": 3}, {"b": 1, "a": 2, "c": 3}, {"c": 1, "a": 2}]
    rankings = [Ranking(f"{at // 2}", f"p{at % 2}", each) for at, each in enumerate(ranks)]
    shuffled = [Ranking(each.example, each.annotator, dict(reversed(each.ranks.items()))) for each in rankings[::-1]]
    assert trueskill(shuffled) == trueskill(rankings)
    renamed = [Ranking(f"{9 - at}", each.annotator, each.ranks) for at, each in enumerate(rankings)]
    assert trueskill(renamed) != trueskill(rankings)


def test_one_item_has_no_match_and_stays_as_it_is() -> None:
    assert trueskill([Ranking("1", "ada", {"a": 1})]) == (Rating("a", 0.0, 0.5, -0.98, 0.98, "1"),)


def test_items_that_were_left_out_stay_as_they_are() -> None:
    ratings = {
        each.item: each for each in trueskill([Ranking("1", "x", {"a": 1, "b": 2}), Ranking("2", "x", {"c": 1})])
    }
    assert (ratings["c"].mu, ratings["c"].sigma) == NEW


def test_no_rankings_are_refused() -> None:
    with pytest.raises(InputError, match="no rankings"):
        trueskill([])


def shuffled(ranks: Sequence[Mapping[str, int]], orders: int) -> np.ndarray:
    """The ratings of the same matches in random orders, [orders, items, mu and sigma]."""
    generator = np.random.default_rng(0)
    drawn = [generator.permutation(len(ranks)) for _ in range(orders)]
    played = [trueskill([Ranking(f"{at:03d}", "p", ranks[each]) for at, each in enumerate(order)]) for order in drawn]
    return np.array([[(each.mu, each.sigma) for each in sorted(one, key=lambda each: each.item)] for one in played])


@pytest.mark.parametrize(
    ("matches", "studies", "sigma", "moved"), [(60, 6, 0.65, 0.09), (150, 4, 0.69, 0.2), (600, 1, 0.71, 0.34)]
)
def test_sigma_does_not_shrink_and_the_order_of_matches_moves_mu(
    study: Callable[..., list[Ranking]], matches: int, studies: int, sigma: float, moved: float
) -> None:
    """The mean distance of mu from its mean over orders grows with the number of matches, to half of sigma."""
    ranks = [[each.ranks for each in study([1.5, 0.5, -0.5, -1.5], matches, 1, seed=seed)] for seed in range(studies)]
    found = np.stack([shuffled(each, orders=5) for each in ranks])  # [studies, orders, items, mu and sigma]
    assert found[..., 1].mean() == pytest.approx(sigma, abs=0.02)
    # The mean of 5 numbers is nearer to each of them than the true one.
    off = np.abs(found[..., 0] - found[..., 0].mean(axis=1, keepdims=True)).mean() * np.sqrt(5 / 4)
    assert off == pytest.approx(moved, rel=0.3)
