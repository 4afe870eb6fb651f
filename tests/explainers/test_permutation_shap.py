"""Shapley values by random orders: right on average, and always adding up."""

import pytest
import torch

from veridical.explainers import PermutationShap
from veridical.testing.games import by_definition, case_of, of_three, smooth


def test_additive_games_need_one_pair():
    case = case_of(lambda x: x @ torch.tensor([1.0, -2.0, 0.5, 0.0], dtype=torch.double), 4)
    found = PermutationShap(pairs=1).scores(case)
    assert found.values[0].tolist() == pytest.approx([1.0, -2.0, 0.5, 0.0], abs=1e-6)
    assert found.margins is None


@pytest.mark.parametrize("pairs", [1, 3])
def test_scores_add_up_whatever_is_drawn(pairs):
    found = PermutationShap(pairs=pairs, seed=3).scores(case_of(smooth, 7))
    assert found.measures["residual"].abs().max() < 1e-5


def test_the_mean_over_seeds_is_the_shapley_value():
    case = case_of(of_three, 3)
    several = torch.stack([PermutationShap(pairs=1, seed=seed).scores(case).values[0] for seed in range(300)])
    error = several.std(0) / 300**0.5
    assert ((several.mean(0) - by_definition(of_three, 3)).abs() <= 4 * error + 1e-6).all()


def test_margins_cover_the_shapley_value():
    case, truth = case_of(smooth, 6), by_definition(smooth, 6)
    inside = []
    for seed in range(60):
        found = PermutationShap(pairs=6, seed=seed).scores(case)
        inside.append((found.values[0] - truth).abs() <= found.margins[0])
    assert torch.stack(inside).float().mean() > 0.88


def test_questions_are_counted():
    case = case_of(smooth, 5)
    before = int(case.asked[0])
    PermutationShap(pairs=2).scores(case)
    assert int(case.asked[0]) - before == PermutationShap(pairs=2).passes(5)


def test_a_single_word_gets_everything():
    case = case_of(lambda x: 2 * x[:, 0], 1)
    assert PermutationShap(pairs=2).scores(case).values[0].tolist() == pytest.approx([2.0])
