"""Normalisers: numbers computed independently, derivatives, and what sparse ones promise."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.simulation.mixtures import normalise
from veridical.testing import text_classifier

CASES = [
    ([0.5, 0.3, -0.2], "sparsemax", [0.6, 0.4, 0]),
    ([0.5, 0.3, -0.2], "entmax15", [0.501648, 0.369994, 0.128358]),
    ([0.5, 0.3, -0.2], "softmax", [0.431906, 0.353615, 0.214478]),
    ([2, 1, 0.1], "sparsemax", [1, 0, 0]),
    ([2, 1, 0.1], "entmax15", [0.830719, 0.169281, 0]),
    ([1, 0.8, 0.1, -1], "sparsemax", [0.6, 0.4, 0, 0]),
    ([1, 0.8, 0.1, -1], "entmax15", [0.529248, 0.393749, 0.077003, 0]),
]


@pytest.mark.parametrize(("scores", "how", "expected"), CASES)
def test_known_shares(scores, how, expected):
    assert normalise(torch.tensor(scores).double(), how).tolist() == pytest.approx(expected, abs=1e-6)


def jacobian(how):
    return torch.autograd.functional.jacobian(lambda z: normalise(z, how), torch.tensor([0.5, 0.3, -0.2]).double())


def test_known_derivatives():
    expected = torch.tensor([[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 0]]).double()
    torch.testing.assert_close(jacobian("sparsemax"), expected)
    assert jacobian("entmax15")[0, 0].item() == pytest.approx(0.408746, abs=1e-6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=12), st.sampled_from(["sparsemax", "entmax15"]))
def test_shares_add_up_keep_the_order_and_have_finite_derivatives(scores, how):
    z = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
    shares = normalise(z, how)
    assert shares.sum().item() == pytest.approx(1, abs=1e-5)
    assert (shares >= 0).all()
    order = z.detach().argsort(descending=True, stable=True)
    assert (shares[order].diff() <= 1e-9).all()
    shares.square().sum().backward()
    assert torch.isfinite(z.grad).all()


@pytest.mark.parametrize("name", ["attention-last-layer", "attention-all-layers"])
def test_sparse_attention_leaves_words_out(name):
    classifier, examples = text_classifier()
    scores = {
        how: EXPLAINERS.create(f"{name}(normaliser={how})").scores(Case.bind(classifier, examples)).values
        for how in ("softmax", "sparsemax")
    }
    live = Case.bind(classifier, examples).live
    assert (scores["softmax"][live] > 0).all()
    assert (scores["sparsemax"][live] == 0).any()
