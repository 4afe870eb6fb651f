"""LIME: its kernel, its regression, and what its margins promise."""

import pytest
import torch

from veridical.core.errors import InputError
from veridical.core.values import Example
from veridical.explainers import Lime
from veridical.explainers.lime import nearness, weighted_ridge
from veridical.masking import Case
from veridical.run.explain import explain
from veridical.testing import Formula, text_classifier

WEIGHTS = {"good": 2.0, "bad": -1.5, "film": 0.25, "a": 0.0}


def non_empty(words):
    return torch.tensor([[code >> word & 1 for word in range(words)] for code in range(1, 2**words)]).bool()


def test_the_kernel_of_the_cosine_distance():
    kept = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]).bool()
    assert nearness(kept, 25.0).tolist() == pytest.approx([1, 0.866240, 0.503440, 0.135335], abs=1e-6)


@pytest.mark.parametrize(
    ("ridge", "expected"), [(1e-8, (0.4, -0.3, 0.1, 0)), (1.0, (0.261405, -0.205917, 0.061124, -0.005636))]
)
def test_the_ridge_shrinks_the_weights(ridge, expected):
    kept = non_empty(4)
    values = kept.double() @ torch.tensor([0.4, -0.3, 0.1, 0.0]).double() + 0.2
    weights, _ = weighted_ridge(kept, values, nearness(kept, 25.0), ridge)
    assert weights.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_linear_model_is_found_again():
    case = Case.bind(Formula.linear(WEIGHTS, bias=0.3), [Example.of("a good good film bad")], target="yes")
    found = Lime(ridge=0.0, output="logit").scores(case)
    assert found.values[0].tolist() == pytest.approx([0.0, 2.0, 2.0, 0.25, -1.5], abs=1e-5)
    assert found.margins.max() < 1e-4


def test_bow_gives_all_places_of_a_word_one_weight():
    case = Case.bind(Formula.linear(WEIGHTS), [Example.of("good film good bad")], target="yes")
    found = Lime(bow=True, ridge=0.0, output="logit").scores(case)
    assert found.values[0].tolist() == pytest.approx([4.0, 0.25, 4.0, -1.5], abs=1e-5)


def test_margins_say_how_far_another_seed_moves_the_weights():
    classifier, examples = text_classifier()
    seeds = [Lime(samples=300, seed=seed).scores(Case.bind(classifier, examples[2:3])) for seed in range(12)]
    values = torch.stack([found.values[0] for found in seeds])
    margins = torch.stack([found.margins[0] for found in seeds])
    ratio = margins.mean(0) / (1.96 * values.std(0))
    assert 0.6 < ratio.mean() < 1.7


def test_the_first_sample_is_the_whole_text_and_none_keeps_all_again():
    case = Case.bind(Formula.linear(WEIGHTS), [Example.of("a good film")], target="yes")
    kept = Lime(samples=50)._draw(case, 0, torch.arange(3))
    assert kept.shape == (50, 3)
    assert kept[0].all()
    assert not kept[1:].all(1).any()
    assert kept[1:].sum(1).unique().tolist() == [0, 1, 2]


def test_too_few_samples_say_how_many_there_must_be():
    classifier, examples = text_classifier()
    with pytest.raises(InputError, match=r"10 samples are too few .* 24 words.*samples=26"):
        explain(classifier, [examples[3]], Lime(samples=10))
