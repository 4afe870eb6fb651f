"""Virtual adversarial training: sizes of the shift, what it measures, and that training on it makes models steady."""

import pytest
import torch
from torch import nn

from veridical import Classifier
from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case
from veridical.models.new import start
from veridical.objectives import CrossEntropy, VirtualAdversarial
from veridical.objectives.base import forward
from veridical.objectives.portion import symmetric_kl
from veridical.testing import text_classifier


@pytest.fixture
def case():
    classifier, examples = text_classifier()
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch))


def test_without_a_shift_and_without_dropout_it_is_zero(case):
    assert VirtualAdversarial(sigma=0, eta=0).divergence(case).item() == pytest.approx(0, abs=1e-10)


def test_with_dropout_the_passes_differ(case):
    for module in case.classifier.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    case.classifier.model.train()
    assert VirtualAdversarial(sigma=0, eta=0).divergence(case).item() > 1e-4


@pytest.mark.parametrize(("projection", "low", "high"), [("unit", 0.99, 1.0), ("ball", 0.0, 1e-5)])
def test_the_size_of_the_shift(case, projection, low, high):
    largest = VirtualAdversarial(projection=projection).shift(case).abs().amax(-1)
    lengths = case.batch.rows.lengths
    present = torch.arange(largest.shape[1])[None] < lengths[:, None]
    assert not present.all()
    assert (largest[present] > low).all()
    assert (largest[present] <= high * (1 + 1e-6)).all()
    assert (largest[~present] == 0).all()


def test_a_ball_is_inert_and_unit_shifts_are_not(case):
    torch.manual_seed(0)
    unit, ball = (VirtualAdversarial(projection=each).divergence(case).item() for each in ("unit", "ball"))
    assert 0 <= ball < 1e-6
    assert unit > 1e-2


def test_steps_find_a_worse_direction_than_chance(case):
    def mean(objective):
        torch.manual_seed(0)
        return torch.stack([objective.divergence(case).detach() for _ in range(5)]).mean().item()

    chance = VirtualAdversarial(sigma=1.0, steps=1, eta=0)
    assert mean(VirtualAdversarial(steps=3, eta=1000.0)) > 2 * mean(chance)


def test_a_shift_does_not_depend_on_the_neighbours():
    classifier, examples = text_classifier()

    def found(some):
        batch = classifier.encode(some)
        embeds = classifier.embed(batch.rows).detach()
        elsewhere = classifier.run(batch.rows, embeds=embeds.flip(2))  # or the gradient would be 0
        return VirtualAdversarial(sigma=0, eta=1.0, steps=1, eps=1e-9).shift(
            Case.of_output(classifier, batch, elsewhere)
        )

    alone, together = found(examples[:1]), found(examples)
    assert alone.abs().max() > 0.99
    torch.testing.assert_close(alone[0], together[0, : alone.shape[1]], atol=1e-2, rtol=0)


def test_stopping_the_gradient_changes_the_gradient_only(case):
    def made(stop):
        torch.manual_seed(0)
        batch = case.batch
        fresh = Case.of_output(case.classifier, batch, case.classifier.forward(batch))
        value = VirtualAdversarial(stop_gradient=stop).divergence(fresh)
        weight = case.classifier.model.classifier.weight
        return value.item(), torch.autograd.grad(value, weight)[0]

    (value, gradient), (stopped, other) = made(False), made(True)
    assert value == stopped
    assert (gradient - other).abs().max() > 1e-4


def test_the_plain_loss_is_there_once_and_the_term_is_weighted(case):
    torch.manual_seed(0)
    terms = VirtualAdversarial(weight=2.0)(case)
    torch.manual_seed(0)
    assert set(terms) == {"cross_entropy", "virtual_adversarial"}
    assert torch.equal(terms["cross_entropy"], CrossEntropy()(case)["cross_entropy"])
    assert terms["virtual_adversarial"].item() == pytest.approx(2 * VirtualAdversarial().divergence(case).item())


def test_weight_zero_is_plain_training(case):
    state = torch.get_rng_state()
    assert VirtualAdversarial(weight=0).needs == frozenset()
    assert set(VirtualAdversarial(weight=0)(case)) == {"cross_entropy"}
    assert torch.equal(torch.get_rng_state(), state)


def test_regression_compares_numbers():
    examples = [Example(str(index), {"text": f"say {index} now"}, float(index)) for index in range(4)]
    classifier = start("tiny", examples, [])
    batch = classifier.encode(examples)
    terms = VirtualAdversarial()(Case.of_output(classifier, batch, classifier.forward(batch)))
    assert set(terms) == {"squared_error", "virtual_adversarial"}
    assert terms["virtual_adversarial"] > 0


@pytest.mark.parametrize("every", [1, 8])
def test_training_on_it_makes_a_model_steady_under_random_shifts(trained, every):
    examples = load("planted(train=400, length=8):train[:32]").examples

    def unsteadiness(objective):
        torch.manual_seed(0)
        classifier = Classifier.load(trained)
        batch = classifier.encode(examples)
        optimiser = torch.optim.AdamW(classifier.model.parameters(), lr=1e-3)
        for _ in range(10):
            optimiser.zero_grad()
            terms = objective(Case.of_output(classifier, batch, forward(classifier, batch, objective.needs)))
            torch.stack(list(terms.values())).sum().backward()
            optimiser.step()
        case = Case.of_output(classifier, batch, classifier.forward(batch))
        embeds = classifier.embed(batch.rows)
        noise = torch.randn(embeds.shape, generator=torch.Generator().manual_seed(1))
        noise = noise / noise.abs().amax(-1, keepdim=True)
        assert (case.output.logits.argmax(-1) == case.gold).float().mean() > 0.9
        return symmetric_kl(case.ask_with_gradients(embeds=embeds + noise).logits, case.output.logits).mean().item()

    assert unsteadiness(VirtualAdversarial(every=every)) < 0.4 * unsteadiness(CrossEntropy())
