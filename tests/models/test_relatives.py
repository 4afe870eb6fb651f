"""Families that are made like another one: named in a rule somewhere, so each is built and tried out."""

from __future__ import annotations

import pytest
import torch
from transformers import ViTMSNConfig, ViTMSNForImageClassification

from veridical import Case, Example, Image, audit, check, explain
from veridical.models.architecture import decides_on_last_token
from veridical.models.loader import wrap
from veridical.models.text_classifier import TextClassifier
from veridical.testing.families import RELATIVES, SENTENCES, family

TEXTS = list(SENTENCES[:3])
LEFT_TO_RIGHT = {"ctrl", "llama", "qwen2", "modernbert-decoder"}


@pytest.fixture(params=sorted(RELATIVES))
def relative(request: pytest.FixtureRequest) -> TextClassifier:
    return family(request.param)


def test_nothing_is_wrong_with_it(relative: TextClassifier) -> None:
    found = check(relative, TEXTS)
    problems = {each.name: each.meaning for each in (*found.checks, *found.methods) if each.verdict == "problem"}
    assert not problems
    fine = {each.name for each in found.checks if each.verdict == "ok"}
    assert fine >= {"same answer twice", "batch invariance", "padding invariance", "kernel-shap adds up"}


def test_who_reads_left_to_right_shows_no_attention(relative: TextClassifier) -> None:
    decoder = relative.model.config.model_type in LEFT_TO_RIGHT
    assert decides_on_last_token(relative.model) == decoder
    verdicts = {each.name: each.verdict for each in check(relative, TEXTS[:1]).methods}
    assert (verdicts["attention"] == "not possible") == decoder


def test_every_eraser_it_has_takes_words_away(relative: TextClassifier) -> None:
    case = Case.bind(relative, [Example.of(TEXTS[0])])
    keep = case.live.clone()
    keep[:, 2:5] = False
    for eraser in sorted({"delete", "mask", "pad", "pad_attn", "zero"} & {str(each) for each in relative.provides}):
        left = case.with_eraser(eraser).value(torch.stack([case.live, keep], 1))[0]
        assert (left[0] - left[1]).abs() > 1e-5, eraser


def test_gradients_are_those_of_finite_differences(relative: TextClassifier) -> None:
    rows = relative.encode([Example.of(TEXTS[1])]).rows
    embeds = relative.embed(rows).detach().requires_grad_()
    before = embeds.detach().clone()
    (gradient,) = torch.autograd.grad(relative.run(rows, embeds=embeds).logits[0, 0], embeds)
    step = 1e-3 * gradient / gradient.norm()
    up, down = (relative.run(rows, embeds=(before + sign * step)).logits[0, 0].item() for sign in (1, -1))
    assert (up - down) / 2e-3 == pytest.approx(gradient.norm().item(), rel=0.05)
    assert torch.equal(embeds, before)  # whatever the model does with vectors that it takes for its own


@pytest.mark.parametrize("name", ["llama", "ctrl"])
def test_a_decoder_is_audited_by_the_usual_methods(name: str) -> None:
    found = audit(family(name), TEXTS, timed=0)
    assert {method.name.partition("(")[0] for method in found.methods} == {
        "integrated-gradients",
        "occlusion",
        "random",
    }
    assert "attention" in found.skipped
    assert all(torch.tensor(found.values(metric.name, "random")).isfinite().any() for metric in found.metrics)


def test_images_of_the_other_kind_of_vision_transformer() -> None:
    config = ViTMSNConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=8,
        patch_size=4,
        num_channels=1,
        id2label={0: "a", 1: "b"},
    )
    torch.manual_seed(0)
    classifier = wrap(ViTMSNForImageClassification(config).eval())
    image = Image(torch.randint(0, 256, (8, 8, 1), generator=torch.Generator().manual_seed(0)).numpy())
    for method in ("attention", "integrated-gradients", "occlusion"):
        (found,) = explain(classifier, [image], method=method)
        assert len(found.scores) == 4
        assert len({round(score, 9) for score in found.scores}) > 1
