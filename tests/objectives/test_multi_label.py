"""Objectives on models of several labels: closed forms of their losses, and all of them train."""

import math

import pytest
import torch

from veridical import Case, Example
from veridical.core.errors import UnsupportedError
from veridical.models.new import start
from veridical.objectives import OBJECTIVES
from veridical.objectives.base import CrossEntropy, forward, plain_loss, prepare
from veridical.objectives.portion import symmetric_kl

LABELS = ("money", "rain", "sport")
EXAMPLES = [
    Example("a", {"text": "the bank lost a goal"}, ("money", "sport")),
    Example("b", {"text": "wet and cold"}, ("rain",)),
    Example("c", {"text": "nothing at all"}, ()),
]


@pytest.fixture
def classifier():
    return start("tiny", EXAMPLES, LABELS, seed=0)


def case_of(classifier, objective):
    batch = classifier.encode(EXAMPLES)
    return Case.of_output(classifier, batch, forward(classifier, batch, objective))


def test_the_plain_loss_is_the_mean_over_labels_by_hand(classifier):
    logits = torch.tensor([[0.5, -1.0, 2.0]])
    gold = torch.tensor([[1.0, 0.0, 1.0]])
    each = [math.log1p(math.exp(-0.5)), math.log1p(math.exp(-1.0)), math.log1p(math.exp(-2.0))]
    assert float(plain_loss(classifier, logits, gold)) == pytest.approx(sum(each) / 3)
    assert float(plain_loss(classifier, logits.repeat(4, 1), gold.repeat(4, 1), reduction="sum")) == pytest.approx(
        4 * sum(each) / 3
    )


def test_smoothing_draws_labels_to_one_half(classifier):
    logits, gold = torch.tensor([[3.0, 3.0, 3.0]]), torch.ones(1, 3)
    soft = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.full((1, 3), 0.9))
    assert float(plain_loss(classifier, logits, gold, smoothing=0.2)) == pytest.approx(float(soft))


def test_its_term_says_what_it_is(classifier):
    assert list(CrossEntropy()(case_of(classifier, CrossEntropy()))) == ["binary_cross_entropy"]


def test_divergences_of_yes_and_no_add_up():
    one, other = torch.tensor([[1.0, -0.5]]), torch.tensor([[0.2, 0.7]])
    total = 0.0
    for p, q in zip(one.sigmoid()[0].tolist(), other.sigmoid()[0].tolist(), strict=True):
        for a, b in ((p, q), (q, p)):
            total += a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))
    assert float(symmetric_kl(one, other, independent=True)) == pytest.approx(total, rel=1e-5)
    assert float(symmetric_kl(one, one, independent=True)) == 0.0


@pytest.mark.parametrize("name", [*OBJECTIVES, "random-erasure(empty=0.5, towards=own)", "rationale(target=predicted)"])
def test_every_objective_trains_it(classifier, name):
    objective = prepare(OBJECTIVES.create(name), classifier, EXAMPLES)
    terms = objective(case_of(classifier, objective))
    total = torch.stack(list(terms.values())).sum()
    total.backward()
    assert {"binary_cross_entropy", "masked"} & set(terms)
    assert all(torch.isfinite(value) for value in terms.values())
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in classifier.model.parameters())


def test_chi2_says_why_not(classifier):
    with pytest.raises(UnsupportedError, match="chi2 compares classes"):
        prepare(OBJECTIVES.create("saloss(salience=chi2)"), classifier, EXAMPLES)
