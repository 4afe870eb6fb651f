"""A classifier with other weights in the place of its own, as loops need that train through training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.masking import Case
from veridical.models import Classifier
from veridical.models.text_classifier import TextClassifier
from veridical.testing import black_box, image_classifier, text_classifier
from veridical.testing.families import family


def named(classifier: TextClassifier) -> dict[str, Tensor]:
    return dict(classifier.model.named_parameters())


def test_its_own_weights_change_nothing(any_name: str, examples: list[Example]) -> None:
    classifier = family(any_name)
    other = classifier.with_weights(named(classifier))
    rows = classifier.encode(examples).rows
    with torch.no_grad():
        assert torch.equal(other.run(rows).logits, classifier.run(rows).logits)
        assert torch.equal(other.embed(rows), classifier.embed(rows))


@pytest.mark.parametrize("eraser", ["zero", "mask", "pad"])
def test_other_weights_are_those_of_another_model(any_name: str, examples: list[Example], eraser: str) -> None:
    classifier, stranger = family(any_name), family(any_name)
    with torch.no_grad():
        for values in stranger.model.parameters():
            values.mul_(1.3)
    if eraser == "mask" and classifier.tokenizer.mask_token_id is None:
        pytest.skip("no mask token")
    before = classifier.fingerprint
    other = classifier.with_weights({name: values.detach() for name, values in named(stranger).items()})
    found, expected = (_soft(each, examples, eraser) for each in (other, stranger))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)  # memory is laid out otherwise
    assert (found - _soft(classifier, examples, eraser)).abs().max() > 1e-3
    assert (classifier.fingerprint, other.fingerprint) == (before, stranger.fingerprint)


def _soft(classifier: Classifier, examples: list[Example], eraser: str) -> Tensor:
    """Outputs for halves of words: embeddings of words and of what stands in their place are looked up."""
    case = Case.bind(classifier, examples, eraser=eraser)
    return case.logits(torch.arange(len(case)), 0.5 * case.live)


def test_explainers_explain_the_other_weights() -> None:
    (classifier, examples), (stranger, _) = text_classifier(), text_classifier(seed=1)
    other = classifier.with_weights(dict(stranger.model.named_parameters()))
    for name in ("integrated-gradients(steps=4)", "occlusion", "attention", "lrp"):
        explainer = EXPLAINERS.create(name)
        found, expected = (explainer.scores(Case.bind(each, examples)).values for each in (other, stranger))
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_images_too() -> None:
    classifier, examples = image_classifier()
    rows = classifier.encode(examples).rows
    doubled = {name: 2 * values for name, values in classifier.model.named_parameters() if "projection" in name}
    assert doubled
    torch.testing.assert_close(classifier.with_weights(doubled).embed(rows), 2 * classifier.embed(rows))


def test_what_is_saved_are_the_other_weights(tmp_path: Path) -> None:
    classifier, _ = text_classifier()
    head = {"classifier.bias": torch.tensor([5.0, -5.0])}
    classifier.with_weights(head).save(tmp_path)
    assert Classifier.load(tmp_path).model.classifier.bias.tolist() == [5.0, -5.0]
    assert classifier.model.classifier.bias.abs().max() < 5


def _inner_step(classifier: TextClassifier, weights: dict[str, Tensor], rate: Tensor, keep: Tensor) -> Classifier:
    """The classifier after one step of SGD on softly kept texts."""
    batch = classifier.encode(TEXTS[:2])
    before = classifier.with_weights(weights)
    case = Case.of_output(before, batch, before.forward(batch))
    logits = case.ask_with_gradients(torch.arange(2), keep).logits
    loss = functional.cross_entropy(logits, case.gold)
    gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True, allow_unused=True)
    moved = {
        name: values if gradient is None else values - rate * gradient
        for (name, values), gradient in zip(weights.items(), gradients, strict=True)
    }
    return classifier.with_weights(moved)


def _outer_loss(classifier: TextClassifier, weights: dict[str, Tensor], rate: Tensor, keep: Tensor) -> Tensor:
    after = _inner_step(classifier, weights, rate, keep)
    batch = classifier.encode(TEXTS[2:])
    return functional.cross_entropy(after.forward(batch).logits, classifier.gold(batch.examples))


TEXTS = [
    Example("0", {"text": "A gorgeous, witty, seductive movie."}, "positive"),
    Example("1", {"text": "dull"}, "negative"),
    Example("2", {"text": "the best film"}, "positive"),
    Example("3", {"text": "far too long"}, "negative"),
]


@pytest.mark.parametrize("through", ["weights", "rate", "keep"])
def test_gradients_through_a_step_of_training_are_the_finite_differences(through: str) -> None:
    classifier, _ = text_classifier()
    classifier.model.double().eval()
    torch.manual_seed(0)
    leaves = {
        **{name: values.detach().requires_grad_() for name, values in classifier.model.named_parameters()},
        "rate": torch.tensor(0.5, dtype=torch.float64, requires_grad=True),
        "keep": torch.rand(2, 8, dtype=torch.float64).requires_grad_(),
    }

    def loss(values: dict[str, Tensor]) -> Tensor:
        own = {name: each for name, each in values.items() if name not in ("rate", "keep")}
        return _outer_loss(classifier, own, values["rate"], values["keep"])

    chosen = [name for name in leaves if (name == through) or (through == "weights" and name not in ("rate", "keep"))]
    direction = {name: torch.randn_like(leaves[name]) for name in chosen}
    gradients = torch.autograd.grad(loss(leaves), [leaves[name] for name in chosen], allow_unused=True)
    along = sum(
        (gradient * direction[name]).sum().item()
        for name, gradient in zip(chosen, gradients, strict=True)
        if gradient is not None
    )
    step = 1e-5

    def moved(by: float) -> float:
        there = {name: leaves[name] + by * direction[name] for name in chosen}
        return loss({**leaves, **there}).item()

    difference = (moved(step) - moved(-step)) / (2 * step)
    assert abs(along) > 1e-4
    assert along == pytest.approx(difference, rel=1e-3)


def test_weights_that_the_model_does_not_have() -> None:
    classifier, _ = text_classifier()
    with pytest.raises(UsageError, match=r"the model has no weight 'classifier.bia'\. Did you mean 'classifier.bias'"):
        classifier.with_weights({"classifier.bia": torch.zeros(2)})
    with pytest.raises(UsageError, match="the model's weight 'classifier.bias' is 2, and not 3"):
        classifier.with_weights({"classifier.bias": torch.zeros(3)})


def test_code_has_no_weights() -> None:
    with pytest.raises(UnsupportedError, match="a black-box model cannot be run with other weights"):
        black_box()[0].with_weights({})
