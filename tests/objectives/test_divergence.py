"""Divergences against numbers worked out apart."""

import pytest
import torch

from veridical.objectives.divergence import kl, symmetric_kl


def test_the_divergence_of_shares_has_a_direction():
    attention, shares = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([3.0, 1.0, 1.0]) / 5
    assert kl(attention, shares).item() == pytest.approx(0.030479, abs=1e-6)
    assert kl(shares, attention).item() == pytest.approx(0.028300, abs=1e-6)


def test_shares_of_zero_are_no_trouble():
    p = torch.tensor([1.0, 0.0], requires_grad=True)
    assert kl(p, torch.tensor([1.0, 0.0])).item() == 0
    apart = kl(p, torch.tensor([0.0, 1.0]))
    assert apart.item() == pytest.approx(23.02585, abs=1e-4)
    apart.backward()
    assert torch.isfinite(p.grad).all()


def test_the_symmetric_divergence_of_logits():
    one, other = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.5])
    assert kl(one.softmax(0), other.softmax(0)).item() == pytest.approx(0.257403, abs=1e-6)
    assert symmetric_kl(one, other).item() == pytest.approx(0.530277, abs=1e-6)
    assert symmetric_kl(other, one).item() == pytest.approx(0.530277, abs=1e-6)
    assert symmetric_kl(one, one + 3).item() == pytest.approx(0, abs=1e-12)
