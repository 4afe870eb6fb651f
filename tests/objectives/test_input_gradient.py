"""Input-gradient regularisation: lengths worked out by hand, and that training on it shortens them."""

from dataclasses import replace

import pytest
import torch

from veridical import Classifier
from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case
from veridical.models.new import start
from veridical.objectives import CrossEntropy, InputGradient
from veridical.objectives.base import forward
from veridical.objectives.robustness import weight_norm
from veridical.testing import text_classifier
from veridical.testing.formula import Formula


def case_of(classifier, examples):
    batch = classifier.encode(examples)
    return Case.of_output(classifier, batch, classifier.forward(batch))


def logistic():
    """Weights 2 and -1 at the first and the second word."""
    return Formula(
        {"half": 0.5, "one": 1.0}, lambda x: torch.stack([torch.zeros(len(x)).double(), 2 * x[:, 0] - x[:, 1]], 1)
    )


def test_the_length_for_a_logistic_model():
    case = case_of(logistic(), [Example("0", {"text": "half one"}, "yes")] * 3)
    assert InputGradient().lengths(case).tolist() == pytest.approx([1.118034] * 3, abs=1e-6)  # |p - y| times |w|
    assert InputGradient(squared=True).lengths(case).tolist() == pytest.approx([1.25] * 3, abs=1e-6)
    terms = InputGradient(weight=0.1)(case)
    assert terms["input_gradient"].item() == pytest.approx(0.1118034, abs=1e-7)
    assert terms["weight_norm"].item() == 0  # a formula has no weights


def test_each_example_has_its_own_gradient():
    classifier, examples = text_classifier()
    together = InputGradient().lengths(case_of(classifier, examples))
    alone = torch.cat([InputGradient().lengths(case_of(classifier, [example])) for example in examples])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def test_the_windows_of_a_document_count_together():
    classifier, examples = text_classifier(max_length=8, long="window")
    case = case_of(classifier, examples)
    assert len(case.batch.rows) > len(case)
    leaf = classifier.embed(case.batch.rows).detach().requires_grad_()
    logits = classifier.run(case.batch.rows, embeds=leaf).logits
    own = case.batch.rows.owner == 3
    loss = torch.nn.functional.cross_entropy(logits[own].mean(0, keepdim=True), case.gold[3:])
    (gradient,) = torch.autograd.grad(loss, leaf)
    assert InputGradient().lengths(case)[3].item() == pytest.approx(gradient.norm().item(), rel=1e-5)


def test_the_norm_of_all_weights():
    classifier, _ = text_classifier()
    flat = torch.cat([values.flatten() for values in classifier.model.parameters()])
    found = weight_norm(classifier)
    assert found.item() == pytest.approx(flat.norm().item(), rel=1e-5)
    head = classifier.model.classifier.weight
    (gradient,) = torch.autograd.grad(found, head)
    torch.testing.assert_close(gradient, head / found)


def test_the_norm_of_weights_can_be_left_out():
    case = case_of(*text_classifier())
    assert set(InputGradient()(case)) == {"cross_entropy", "input_gradient", "weight_norm"}
    assert set(InputGradient(parameters=False)(case)) == {"cross_entropy", "input_gradient"}


def test_weight_zero_is_plain_training():
    case = case_of(*text_classifier())
    assert InputGradient(weight=0).needs == frozenset()
    terms = InputGradient(weight=0)(case)
    assert set(terms) == {"cross_entropy"}
    assert torch.equal(terms["cross_entropy"], CrossEntropy()(case)["cross_entropy"])


def test_a_model_whose_word_embeddings_are_frozen_can_be_trained():
    classifier, examples = text_classifier()
    classifier.model.get_input_embeddings().weight.requires_grad_(False)
    InputGradient(parameters=False)(case_of(classifier, examples))["input_gradient"].backward()
    assert classifier.model.classifier.weight.grad.abs().max() > 0


def test_regression_takes_the_squared_error():
    examples = [Example(str(index), {"text": f"say {index} now"}, float(index)) for index in range(4)]
    terms = InputGradient()(case_of(start("tiny", examples, []), examples))
    assert set(terms) == {"squared_error", "input_gradient", "weight_norm"}
    assert terms["input_gradient"] > 0


@pytest.mark.parametrize("every", [1, 4])
def test_training_on_it_shortens_the_gradient(trained, every):
    examples = load("planted(train=400, length=8):train[:8]").examples
    # One label in four is wrong, or any model would end with a loss of 0 and no gradient at all.
    wrong = [replace(example, label={"positive": "negative"}.get(example.label, "positive")) for example in examples]
    mixed = [*examples, *examples, *examples, *wrong]

    def length(objective):
        torch.manual_seed(0)
        classifier = Classifier.load(trained)
        batch = classifier.encode(mixed)
        optimiser = torch.optim.AdamW(classifier.model.parameters(), lr=1e-3)
        for _ in range(15):
            optimiser.zero_grad()
            terms = objective(Case.of_output(classifier, batch, forward(classifier, batch, objective)))
            torch.stack(list(terms.values())).sum().backward()
            optimiser.step()
        case = Case.of_output(classifier, batch, classifier.forward(batch))
        assert (case.output.logits.argmax(-1) == case.gold).float().mean() > 0.7
        return InputGradient().lengths(case).mean().item()

    assert length(InputGradient(weight=0.05, parameters=False, every=every)) < 0.8 * length(CrossEntropy())
