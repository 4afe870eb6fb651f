"""Mixtures of attention heads: known answers, derivatives of the second order, and heads that count no more."""

import entmax
import pytest
import torch

from veridical.models import Rows
from veridical.simulation.mixtures import Mixture, head_logits, normalise, shares

# Two heads, three queries, three keys: the parameterised attention explainer of SMaT, by hand.
FIRST = torch.tensor([[1.0, 0, 0], [0, 1, 0], [2, 1, 0]])
SECOND = torch.tensor([[0.0, 2, 1], [0, 0, 3], [0, 1, 2]])


def rows(lengths=(3,), width=3):
    attended = (torch.arange(width)[None] < torch.tensor(lengths)[:, None]).long()
    count = len(lengths)
    units = torch.zeros(count, width, dtype=torch.long)
    return Rows({"attention_mask": attended}, units, torch.arange(count), torch.tensor(lengths))


def mixture_of(weights, weighing="none"):
    made = Mixture(len(weights), weighing)
    with torch.no_grad():
        made.phi.copy_(torch.tensor(weights))
    return made


def test_known_shares_of_two_heads():
    logits = torch.stack([FIRST, SECOND])[None]  # [1, 2, 3, 3]
    found = mixture_of([0.6, 0.4])(logits.mean(2))
    torch.testing.assert_close(found, torch.tensor([[0.6, 0.8, 0.8]]))
    expected = torch.tensor([[0.290461, 0.354770, 0.354770]])
    torch.testing.assert_close(shares(found, rows()), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("weights", [[0.6, 0.4], [1.7, -0.3], [0.0, 1.0]])
def test_logarithms_of_attention_weights_serve_as_well_as_its_logits(weights):
    logits = torch.stack([FIRST, SECOND])[None]
    mixture = mixture_of(weights)
    by_logits = shares(mixture(logits.mean(2)), rows())
    by_weights = shares(mixture(head_logits([logits.softmax(-1)], rows())), rows())
    torch.testing.assert_close(by_weights, by_logits, atol=1e-6, rtol=0)


def test_padding_is_neither_asked_nor_looked_at():
    weights = torch.rand(1, 2, 5, 5).softmax(-1)
    short = torch.rand(1, 2, 3, 3).softmax(-1)
    padded = torch.zeros(1, 2, 5, 5)
    padded[:, :, :3, :3] = short
    padded[:, :, 3:] = weights[:, :, 3:]  # what padding looks at is anything
    mixture = mixture_of([0.6, 0.4])
    wide, narrow = rows((3,), 5), rows((3,), 3)
    found = shares(mixture(head_logits([padded], wide)), wide)
    torch.testing.assert_close(found[:, :3], shares(mixture(head_logits([short], narrow)), narrow))
    assert (found[:, 3:] == 0).all()


def test_it_begins_with_as_much_for_each_source():
    for weighing in ("sparsemax", "entmax15", "softmax", "none"):
        torch.testing.assert_close(Mixture(4, weighing).weights(), torch.full((4,), 0.25))


def test_a_source_without_weight_has_exactly_no_gradient():
    mixture = mixture_of([0.9, 0.3, -0.5], "sparsemax")
    weights = mixture.weights()
    weights.dot(torch.tensor([1.0, 2.0, 5.0])).backward()
    assert weights[2] == 0
    assert mixture.phi.grad[2] == 0
    assert mixture.phi.grad[0] != 0


@pytest.mark.parametrize("how", ["softmax", "sparsemax", "entmax15"])
def test_derivatives_of_the_second_order_also_where_sources_are_dead(how):
    for scores in ([0.5, 0.3, -0.2, 0.1], [3.0, 0.1, 0.0, -1.0]):  # of the second all but one are dead
        z = torch.tensor(scores, dtype=torch.double, requires_grad=True)
        assert torch.autograd.gradgradcheck(lambda given: normalise(given, how), (z,))


@pytest.mark.parametrize("how", ["sparsemax", "entmax15"])
def test_values_are_those_of_the_entmax_library(how):
    generator = torch.Generator().manual_seed(0)
    scores = 3 * torch.randn(200, 9, generator=generator, dtype=torch.double)
    expected = getattr(entmax, how)(scores, dim=-1)
    torch.testing.assert_close(normalise(scores, how), expected, atol=1e-6, rtol=0)
