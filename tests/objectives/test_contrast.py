"""Contrastive losses against worked numbers and, where it is installed, against another library."""

import pytest
import torch
from pytorch_metric_learning import losses, reducers

from veridical.objectives.contrast import alike_labels, contrastive, three_anchors, two_views

VECTORS = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]], dtype=torch.double)
CLASSES = torch.tensor([0, 0, 1, 1])

TEXTS = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.double)
FRONTS = torch.tensor([[0.8, 0.6], [0.6, 0.8]], dtype=torch.double)
BACKS = torch.tensor([[-1.0, 0.0], [0.0, -1.0]], dtype=torch.double)
ALL = torch.cat([TEXTS, FRONTS, BACKS])


@pytest.mark.parametrize(("temperature", "mean"), [(1.0, 0.894264), (0.1, 2.533149)])
def test_plain_supervised_contrast(temperature, mean):
    assert contrastive(VECTORS, alike_labels(CLASSES), temperature).item() == pytest.approx(mean, abs=1e-6)


def test_each_anchor_of_plain_contrast():
    one_by_one = [0.560020, 0.925289, 1.441147, 0.650600]
    belong = alike_labels(CLASSES)
    for at, expected in enumerate(one_by_one):
        only = torch.zeros_like(belong)
        only[at] = belong[at]
        assert contrastive(VECTORS, only, 1.0).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("classes", "whole", "without"), [([0, 1], 1.169380, 0.957474), ([0, 0], 1.284935, 1.130807)])
def test_three_anchors(classes, whole, without):
    alike = alike_labels(torch.tensor(classes))
    assert contrastive(ALL, three_anchors(alike), 1.0).item() == pytest.approx(whole, abs=1e-6)
    few = contrastive(ALL[:4], three_anchors(alike, background=False), 1.0)
    assert few.item() == pytest.approx(without, abs=1e-6)


@pytest.mark.parametrize(
    ("classes", "anchors"), [([0, 1], (1.058723, 1.235685, 1.213731)), ([0, 0], (1.392056, 1.249018, 1.213731))]
)
def test_each_of_three_anchors(classes, anchors):
    belong = three_anchors(alike_labels(torch.tensor(classes)))
    each = [contrastive(ALL, belong * (torch.arange(6) == at)[:, None], 1.0).item() for at in range(6)]
    assert each == pytest.approx([anchor for anchor in anchors for _ in range(2)], abs=1e-6)
    total = contrastive(ALL, belong, 1.0, reduction="sum").item()
    assert total == pytest.approx(2 * sum(anchors), abs=1e-5)


@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_another_library_agrees(temperature):
    # By default it leaves out losses of 0 when it averages.
    oracle = losses.SupConLoss(temperature=temperature, reducer=reducers.MeanReducer())
    found = contrastive(VECTORS, alike_labels(CLASSES), temperature)
    assert found.item() == pytest.approx(oracle(VECTORS, CLASSES).item(), abs=1e-6)


def test_how_many_belong_to_each_anchor():
    assert three_anchors(alike_labels(torch.tensor([0, 0]))).sum(1).tolist() == [3, 3, 3, 3, 1, 1]
    assert three_anchors(alike_labels(torch.tensor([0, 1]))).sum(1).tolist() == [1, 1, 1, 1, 1, 1]


def test_a_background_alone_is_left_out():
    vectors = torch.tensor([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0]], requires_grad=True)
    found = contrastive(vectors, three_anchors(alike_labels(torch.tensor([0]))), 1.0)
    found.backward()
    assert torch.isfinite(found)
    assert torch.isfinite(vectors.grad).all()


def test_where_nothing_belongs_together_there_is_no_loss():
    vectors = torch.randn(3, 2, requires_grad=True)
    found = contrastive(vectors, alike_labels(torch.tensor([0, 1, 2])), 1.0)
    found.backward()
    assert (found.item(), vectors.grad.abs().sum().item()) == (0, 0)


def test_raw_products():
    doubled = contrastive(2 * VECTORS, alike_labels(CLASSES), 4.0, normalise=False)
    assert doubled.item() == pytest.approx(contrastive(VECTORS, alike_labels(CLASSES), 1.0).item())
    assert contrastive(2 * VECTORS, alike_labels(CLASSES), 1.0).item() == pytest.approx(0.894264, abs=1e-6)


def test_sets_of_labels_belong_together_as_far_as_they_overlap():
    gold = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    alike = alike_labels(gold)
    assert alike[0].tolist() == [1, 0.5, 0, 0]
    assert alike[3].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("temperature", "loss"), [(0.05, 0.018150), (1.0, 0.598139)])
def test_two_views(temperature, loss):
    assert two_views(TEXTS, FRONTS, temperature).item() == pytest.approx(loss, abs=1e-6)


def test_products_are_exact_while_a_model_runs_in_bfloat16():
    """Divided by a temperature of .05, the rounding of bfloat16 would move the loss by percents."""
    vectors = torch.randn(32, 64, generator=torch.Generator().manual_seed(0))
    belong = alike_labels(torch.arange(32) % 2)
    exact = contrastive(vectors, belong, 0.05), two_views(vectors, vectors.flip(1), 0.05)
    with torch.autocast("cpu", torch.bfloat16):
        found = contrastive(vectors, belong, 0.05), two_views(vectors, vectors.flip(1), 0.05)
    assert torch.equal(torch.stack(found), torch.stack(exact))
