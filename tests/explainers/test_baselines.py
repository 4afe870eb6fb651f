"""Baselines: which one a model gets by itself, and what integrated gradients make of it."""

import pytest
import torch

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, DeepLift, IntegratedGradients
from veridical.explainers.baselines import usual
from veridical.masking import Case
from veridical.testing import Formula, image_classifier
from veridical.testing.families import DECODERS, FAMILIES, SENTENCES, family


def case_of(name, **options):
    return Case.bind(family(name, **options), [Example.of(text, str(index)) for index, text in enumerate(SENTENCES)])


def missing(scores):
    """The mean size of the residuals as a part of that of the differences."""
    return (scores.measures["residual"].abs().sum() / scores.measures["difference"].abs().sum()).item()


@pytest.mark.parametrize("name", [*FAMILIES, *DECODERS])
def test_only_models_without_biases_begin_with_mask_vectors(name):
    assert usual(family(name)) == ("mask" if name == "modernbert" else "all")


def test_other_kinds_of_classifiers_begin_at_zero():
    assert usual(Formula.linear({"good": 1.0})) == "all"
    assert usual(image_classifier()[0]) == "all"


def test_without_biases_the_way_from_zero_does_not_converge_and_that_from_a_text_does():
    case = case_of("modernbert")
    assert missing(IntegratedGradients(baseline="all").scores(case)) > 0.4
    assert missing(IntegratedGradients().scores(case)) < 0.02


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "modernbert"])
def test_with_biases_both_ways_converge(name):
    case = case_of(name)
    for baseline in ("auto", "content", "mask"):
        assert missing(IntegratedGradients(baseline=baseline).scores(case)) < 0.05


def test_the_baseline_of_mask_vectors_is_the_masked_text():
    case = case_of("bert")
    difference = IntegratedGradients(baseline="mask", steps=4).scores(case).measures["difference"]
    whole = case.output.logits.gather(1, case.targets[:, None])[:, 0]
    masked = case.with_eraser("mask").value(torch.zeros_like(case.live)[:, None], "logit")[:, 0]
    torch.testing.assert_close(difference, whole - masked, atol=1e-5, rtol=0)


def test_special_tokens_have_no_share_where_they_stay():
    case = case_of("bert", units="token")
    for baseline in ("content", "mask"):
        scores = DeepLift(baseline=baseline).scores(case)
        torch.testing.assert_close(scores.values.sum(1).double(), scores.measures["difference"], atol=1e-5, rtol=0)


def test_a_model_without_a_mask_token_is_told():
    with pytest.raises(UnsupportedError, match="mask"):
        IntegratedGradients(baseline="mask").scores(case_of("gpt2"))


@pytest.mark.parametrize("method", ["deep-lift(preset=captum)", "integrated-gradients(preset=regex)"])
def test_published_presets_begin_at_zero(method):
    assert EXPLAINERS.create(method).baseline == "all"
