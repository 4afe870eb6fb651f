"""Where Captum computes the same thing, the numbers agree."""

import pytest
import torch
from captum.attr import InputXGradient as CaptumInputXGradient
from captum.attr import IntegratedGradients as CaptumIntegratedGradients
from captum.attr import LayerGradientXActivation, Saliency

from veridical.core.values import Example
from veridical.explainers import Gradient, InputXGradient, IntegratedGradients, Occlusion
from veridical.masking import Case
from veridical.testing.families import SENTENCES, family

FAMILIES = ["bert", "roberta", "distilbert"]
OUTPUTS = ["logit", "prob"]


def by_captum(case, attribution, output, **options):
    """Captum's attributions [L, d] of the first example, by its embeddings, of the same output."""
    rows, classifier = case.batch.rows, case.classifier

    def forward(embeds):
        many = rows.select(torch.zeros(len(embeds), dtype=torch.long))
        logits = classifier.run(many, embeds=embeds).logits
        return logits if output == "logit" else logits.softmax(-1)

    embeds = classifier.embed(rows).detach().requires_grad_()
    with classifier.evaluating():
        return attribution(forward).attribute(embeds, target=int(case.targets[0]), **options)[0].detach()


def case_of(name):
    return Case.bind(family(name), [Example.of(SENTENCES[1])])


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", FAMILIES)
def test_gradients(name, output):
    case = case_of(name)
    theirs = by_captum(case, Saliency, output, abs=False)
    ours = Gradient(aggregate="sum", output=output).scores(case).values
    torch.testing.assert_close(ours, case.to_units(theirs.sum(-1)[None]), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", FAMILIES)
def test_input_x_gradient(name, output):
    case = case_of(name)
    theirs = by_captum(case, CaptumInputXGradient, output)
    ours = InputXGradient(where="word", output=output).scores(case).values
    torch.testing.assert_close(ours, case.to_units(theirs.sum(-1)[None]), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", FAMILIES)
def test_input_x_gradient_at_the_embedding_output(name, output):
    """Captum takes the activation of a layer times the gradient by it; here the layer is all that makes embeddings."""
    case = case_of(name)
    model, inputs = case.classifier.model, case.classifier.model_inputs(case.batch.rows)

    def forward(ids):
        logits = model(**{**inputs, "input_ids": ids}).logits
        return logits if output == "logit" else logits.softmax(-1)

    layer = LayerGradientXActivation(forward, model.base_model.embeddings)
    theirs = layer.attribute(inputs["input_ids"], target=int(case.targets[0])).detach()
    ours = InputXGradient(where="output", output=output).scores(case).values
    torch.testing.assert_close(ours, case.to_units(theirs.sum(-1)), atol=1e-4, rtol=1e-4)
    by_words = InputXGradient(where="word", output=output).scores(case).values
    assert (ours - by_words).abs().max() > 1e-3


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", FAMILIES)
def test_integrated_gradients(name, output):
    case = case_of(name)
    theirs = by_captum(case, CaptumIntegratedGradients, output, n_steps=20, method="gausslegendre")
    ours = IntegratedGradients(steps=20, output=output).scores(case).values
    torch.testing.assert_close(ours, case.to_units(theirs.sum(-1)[None]), atol=1e-4, rtol=1e-4)


def test_occlusion_is_what_is_left_of_the_output():
    """Captum's ablation needs ids, so the texts without a word are simply asked."""
    case = case_of("bert")
    ours = Occlusion(output="prob", eraser="delete").scores(case)
    words = [unit.text for unit in case.batch.units[0]]
    whole = case.output.logits.softmax(-1)[0, case.targets[0]]
    example = case.batch.examples[0]
    spans = [unit.span for unit in case.batch.units[0]]
    for index, (start, end) in enumerate(spans):
        if example.inputs["text"].count(words[index]) > 1 or not words[index].isalpha():
            continue
        text = example.inputs["text"][:start] + example.inputs["text"][end:]
        without = Case.bind(case.classifier, [Example.of(text)]).output.logits.softmax(-1)[0, case.targets[0]]
        torch.testing.assert_close(ours.values[0, index], whole - without, atol=1e-5, rtol=0)
