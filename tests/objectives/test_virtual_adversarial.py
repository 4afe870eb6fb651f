"""Virtual adversarial training: sizes of the shift, what it measures, and that training on it makes models steady."""

import pytest
import torch
from torch import nn
from transformers import XLMConfig, XLMForSequenceClassification

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case
from veridical.models.loader import wrap
from veridical.models.new import start
from veridical.objectives import CrossEntropy, VirtualAdversarial
from veridical.objectives.base import forward
from veridical.objectives.portion import symmetric_kl
from veridical.testing import text_classifier
from veridical.testing.families import DECODERS, FAMILIES, SENTENCES, family
from veridical.training.fit import fit


@pytest.fixture
def case():
    classifier, examples = text_classifier()
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch))


@pytest.mark.parametrize("where", ["output", "word"])
def test_without_a_shift_and_without_dropout_it_is_zero(case, where):
    assert VirtualAdversarial(sigma=0, eta=0, where=where).divergence(case).item() == pytest.approx(0, abs=1e-10)


def test_with_dropout_the_passes_differ(case):
    for module in case.classifier.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    case.classifier.model.train()
    assert VirtualAdversarial(sigma=0, eta=0).divergence(case).item() > 1e-4


@pytest.mark.parametrize("where", ["output", "word"])
@pytest.mark.parametrize(("projection", "low", "high"), [("unit", 0.99, 1.0), ("ball", 0.0, 1e-5)])
def test_the_size_of_the_shift(case, projection, low, high, where):
    largest = VirtualAdversarial(projection=projection, where=where).shift(case).abs().amax(-1)
    if where == "word":  # in proportion to the word's own numbers
        own = case.classifier.embed(case.batch.rows).square().mean(-1).sqrt()
        largest = largest / own.clamp(min=1e-12)  # that of padding is 0
    lengths = case.batch.rows.lengths
    present = torch.arange(largest.shape[1])[None] < lengths[:, None]
    assert not present.all()
    assert (largest[present] > low).all()
    assert (largest[present] <= high * (1 + 1e-6)).all()
    assert (largest[~present] == 0).all()


def test_words_of_twice_the_length_are_shifted_twice_as_far(case):
    def lengths():
        torch.manual_seed(0)
        batch = case.batch
        fresh = Case.of_output(case.classifier, batch, case.classifier.forward(batch))
        return VirtualAdversarial(where="word").shift(fresh).abs().amax(-1)

    before = lengths()
    with torch.no_grad():
        case.classifier.model.get_input_embeddings().weight.mul_(2)
    torch.testing.assert_close(lengths(), 2 * before, rtol=1e-3, atol=0)


def by_hand(model, case, sigma=1e-5, eta=1e-3, steps=2, eps=1e-5):
    """SMART's term in plain PyTorch, for a BERT in eval mode: the shift enters its first layer."""
    inputs = case.batch.rows.inputs
    there = inputs["attention_mask"][..., None].float()
    closed = (1 - inputs["attention_mask"])[:, None, None, :] * torch.finfo(torch.float32).min

    def answer(delta):
        entering = model.bert.embeddings(inputs["input_ids"]) + delta
        last = model.bert.encoder(entering, attention_mask=closed).last_hidden_state
        return model.classifier(model.bert.pooler(last)).log_softmax(-1)

    def apart(one, other):
        forth, back = (one.exp() * (one - other)).sum(-1), (other.exp() * (other - one)).sum(-1)
        return forth + back

    clean = answer(torch.zeros(()))
    delta = sigma * torch.randn(*there.shape[:2], model.config.hidden_size) * there
    for _ in range(steps):
        delta.requires_grad_()
        (gradient,) = torch.autograd.grad(apart(answer(delta), clean.detach()).sum(), delta)
        delta = (delta + eta * gradient).detach()
        delta = delta / (delta.abs().amax(-1, keepdim=True) + eps) * there
    return apart(answer(delta), clean).mean()


def test_value_and_gradients_are_those_of_plain_pytorch(case):
    model = case.classifier.model
    torch.manual_seed(0)
    expected = by_hand(model, case)
    torch.manual_seed(0)
    found = VirtualAdversarial().divergence(case)
    assert found.item() == pytest.approx(expected.item(), rel=1e-4)
    weights = list(model.parameters())
    ours, theirs = (torch.autograd.grad(value, weights) for value in (found, expected))
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("where", ["output", "word"])
@pytest.mark.parametrize("name", [*FAMILIES, *DECODERS])
def test_every_family_can_be_shifted_in_both_places(name, where):
    classifier = family(name)
    examples = [Example(str(at), {"text": text}, "pos") for at, text in enumerate(SENTENCES[:2])]
    batch = classifier.encode(examples)
    value = VirtualAdversarial(where=where).divergence(Case.of_output(classifier, batch, classifier.forward(batch)))
    assert value.item() > 1e-6
    value.backward()
    gradients = [values.grad for values in classifier.model.parameters() if values.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_what_is_shifted_is_what_a_model_must_have():
    assert VirtualAdversarial().needs == {"embeddings", "embedding-output", "gradients"}
    assert VirtualAdversarial(where="word").needs == {"embeddings", "gradients"}


def test_a_model_without_an_embedding_output_is_told_what_to_do(tmp_path):
    config = XLMConfig(vocab_size=200, emb_dim=16, n_layers=1, n_heads=2, max_position_embeddings=64, num_labels=2)
    classifier = wrap(XLMForSequenceClassification(config), family("bert").tokenizer)
    examples = [Example(label, {"text": "so so"}, label) for label in classifier.labels]
    with pytest.raises(UnsupportedError, match="virtual-adversarial needs embedding-output.*where=word"):
        fit(classifier, VirtualAdversarial(), examples, examples, tmp_path)
    batch = classifier.encode(examples)
    case = Case.of_output(classifier, batch, classifier.forward(batch))
    assert VirtualAdversarial(where="word").divergence(case).item() > 0


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


@pytest.mark.parametrize("where", ["output", "word"])
def test_a_shift_does_not_depend_on_the_neighbours(where):
    classifier, examples = text_classifier()

    def found(some):
        batch = classifier.encode(some)
        embeds = classifier.embed(batch.rows).detach()
        elsewhere = classifier.run(batch.rows, embeds=embeds.flip(2))  # or the gradient would be 0
        return VirtualAdversarial(sigma=0, eta=1.0, steps=1, eps=1e-9, where=where).shift(
            Case.of_output(classifier, batch, elsewhere)
        )

    alone, together = found(examples[:1]), found(examples)
    assert together.shape[1] > alone.shape[1]  # so it is padded there
    assert alone.abs().max() > (0.99 if where == "output" else 0)
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


def unsteadiness(objective):
    """How far random shifts move the answers of a model that was just trained; mean over two seeds."""
    data = load("planted(train=400, length=8):train[:32]")
    found = []
    for seed in range(2):
        torch.manual_seed(seed)
        classifier = start("tiny", data.examples, data.labels, seed)
        batch = classifier.encode(data.examples)
        optimiser = torch.optim.AdamW(classifier.model.parameters(), lr=1e-3)
        for _ in range(30):
            optimiser.zero_grad()
            terms = objective(Case.of_output(classifier, batch, forward(classifier, batch, objective)))
            torch.stack(list(terms.values())).sum().backward()
            optimiser.step()
        case = Case.of_output(classifier, batch, classifier.forward(batch))
        noise = torch.randn(classifier.no_shift(batch.rows).shape, generator=torch.Generator().manual_seed(1))
        noise = 4 * noise / noise.abs().amax(-1, keepdim=True)  # so small a model hardly notices smaller ones
        assert (case.output.logits.argmax(-1) == case.gold).float().mean() > 0.9
        found.append(symmetric_kl(case.ask_with_gradients(shift=noise).logits, case.output.logits).mean())
    return torch.stack(found).mean().item()


@pytest.fixture(scope="module")
def plain_unsteadiness():
    return unsteadiness(CrossEntropy())


@pytest.mark.parametrize("every", [1, 8])
def test_training_on_it_makes_a_model_steady_under_random_shifts(plain_unsteadiness, every):
    # With larger steps than the default: at the start of training the divergence has next to no gradient.
    assert unsteadiness(VirtualAdversarial(eta=10.0, every=every)) < 0.5 * plain_unsteadiness
