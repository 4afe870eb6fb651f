"""REGEX: its terms, what is shared and skipped, and that weight 0 and resuming are exact."""

import pytest
import torch
from transformers import TrainerCallback

from veridical.core.errors import UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.masking import Case
from veridical.models.new import start
from veridical.objectives import (
    OBJECTIVES,
    CrossEntropy,
    ExplanationGuided,
    InputGradient,
    Regex,
    VirtualAdversarial,
)
from veridical.objectives.base import forward
from veridical.testing import text_classifier
from veridical.testing.families import FAMILIES, family
from veridical.training import Schedule
from veridical.training.fit import fit

PLAIN = Regex(l2=0, l3=0, l4=0)


def step(objective, classifier, examples):
    batch = classifier.encode(examples)
    return objective(Case.of_output(classifier, batch, forward(classifier, batch, objective)))


def forwards(objective):
    """How often the model is run in a training step."""
    classifier, _ = text_classifier()
    # Of one length: texts of other lengths would be run in batches of their own.
    examples = [Example(text, {"text": text}, "positive") for text in ("a good day", "an odd day")]
    runs = []
    classifier.model.register_forward_hook(lambda *_: runs.append(1))
    step(objective, classifier, examples)
    return len(runs)


@pytest.mark.parametrize("settings", [{}, {"max_length": 8, "long": "window"}], ids=["rows", "windows"])
@pytest.mark.parametrize("where", ["output", "word"])
@pytest.mark.parametrize("replace", ["mask", "zero", "pad_attn"])
def test_the_terms_and_their_gradients_are_those_of_its_parts(settings, replace, where):
    classifier, examples = text_classifier(**settings)

    def made(*objectives):
        """The terms of some objectives, and the length of their gradient by each of the weights."""
        torch.manual_seed(0)
        terms = [step(objective, classifier, examples) for objective in objectives]
        classifier.model.zero_grad()
        sum(value for each in terms for name, value in each.items() if name != "cross_entropy").backward()
        lengths = [values.grad.norm().item() for values in classifier.model.parameters()]
        return {name: value.item() for each in terms for name, value in each.items()}, lengths

    terms, lengths = made(Regex(l1=2.0, l2=0.1, l3=0.3, l4=0.7, replace=replace, where=where, every=1))
    parts = InputGradient(0.1), VirtualAdversarial(0.3, where=where), ExplanationGuided(0.7, replace=replace)
    apart, lengths_apart = made(*parts)
    assert list(terms) == [
        "cross_entropy",
        "input_gradient",
        "weight_norm",
        "virtual_adversarial",
        "explanation_guided",
    ]
    assert terms == pytest.approx({**apart, "cross_entropy": 2 * apart["cross_entropy"]}, rel=1e-4)
    assert lengths == pytest.approx(lengths_apart, rel=1e-3, abs=1e-6)


def test_every_option_reaches_its_part():
    text = (
        "regex(l2=1, l3=2, l4=3, parameters=false, squared=true, sigma=0.1, adversarial_steps=3, eta=0.2, "
        "projection=ball, eps=0.3, where=word, stop_gradient=true, attribution=saliency, aggregation=mean, steps=4, "
        'ratio=0.4, replace=zero, direction="q,att", normaliser=softmax)'
    )
    assert OBJECTIVES.create(text).parts == (
        InputGradient(1.0, parameters=False, squared=True),
        VirtualAdversarial(
            2.0, sigma=0.1, steps=3, eta=0.2, projection="ball", eps=0.3, where="word", stop_gradient=True
        ),
        ExplanationGuided(3.0, "saliency", "mean", 4, 0.4, "zero", "q,att", "softmax"),
    )


def test_the_settings_of_the_paper():
    assert OBJECTIVES.create("regex(preset=paper)") == Regex(steps=50, every=1)


def test_a_term_of_weight_zero_is_not_computed():
    assert forwards(CrossEntropy()) == forwards(PLAIN) == 1
    assert forwards(Regex(l3=0, l4=0, every=1)) == 1 + 1  # the embeddings, to differentiate by
    assert forwards(Regex(l2=0, l4=0, every=1)) == 1 + 2 + 1  # two steps and the shifted text; the clean one is there
    assert forwards(Regex(l2=0, l3=0, every=1)) == 1 + 1 + 1  # all points of the way at once, and the masked text
    assert forwards(Regex(every=1)) == 1 + 1 + 2 + 1 + 1  # shifted and masked texts at once


def test_needs_follow_the_weights():
    assert PLAIN.needs == frozenset()
    assert "cls-attentions" in Regex().needs
    assert Regex(l4=0).needs == {"embeddings", "embedding-output", "gradients"}
    assert Regex(l4=0, where="word").needs == {"embeddings", "gradients"}
    assert "pad_attn" in Regex(replace="pad_attn").needs


def test_the_weight_of_the_plain_loss_is_known_to_sums():
    assert Regex(l1=0.5).base == 0.5
    with pytest.raises(UsageError, match="weighs the plain loss by 0.5"):
        OBJECTIVES.create("regex(l1=0.5) + cross-entropy")
    both = OBJECTIVES.create("regex(l4=0) + explanation-guided")
    assert set(step(both, *text_classifier())) >= {"cross_entropy", "virtual_adversarial", "explanation_guided"}


@pytest.fixture(scope="module")
def data():
    return load("planted(train=64, length=6):train"), load("planted(train=64, length=6):dev[:16]")


def weights_after(objective, data, out, callbacks=()):
    classifier = start("tiny", data[0], data[0].labels)
    fit(classifier, objective, *data, out, Schedule(epochs=2, checks=1, batch_size=16), callbacks)
    return torch.cat([values.flatten() for values in classifier.model.state_dict().values()])


def test_all_weights_zero_is_plain_training_bit_for_bit(data, tmp_path):
    plain = weights_after(CrossEntropy(), data, tmp_path / "plain")
    assert torch.equal(weights_after(PLAIN, data, tmp_path / "zero"), plain)
    assert not torch.equal(weights_after(Regex(), data, tmp_path / "regex"), plain)


class StopAt(TrainerCallback):
    def __init__(self, at):
        self.at = at

    def on_step_end(self, args, state, control, **_):
        if state.global_step == self.at:
            raise KeyboardInterrupt


def test_a_resumed_training_chooses_the_same_examples_and_shifts(data, tmp_path):
    whole = weights_after(Regex(every=4), data, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        weights_after(Regex(every=4), data, tmp_path / "broken", [StopAt(6)])
    resumed = weights_after(Regex(every=4), data, tmp_path / "broken")
    torch.testing.assert_close(resumed, whole, atol=1e-6, rtol=0)


@pytest.mark.parametrize("pairs", [False, True], ids=["texts", "pairs"])
@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_finite_for_every_family(name, pairs):
    texts = ["A gorgeous, witty movie; don't miss it!", "dull", "", "The plot is dreadful..."]
    examples = [
        Example(str(at), {"text": text, **({"text_pair": texts[at - 1]} if pairs else {})}, ("neg", "pos")[at % 2])
        for at, text in enumerate(texts)
    ]
    classifier = family(name)
    terms = step(Regex(every=1), classifier, examples)
    torch.stack(list(terms.values())).sum().backward()
    assert all(torch.isfinite(value) for value in terms.values())
    gradients = [values.grad for values in classifier.model.parameters() if values.grad is not None]
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
