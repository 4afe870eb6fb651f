"""Models whose weights have half the usual precision, as people load them to save memory."""

import copy

import pytest
import torch

from veridical import Classifier, audit, check, explain, predict
from veridical.explainers import IBALayer, L2XLayer, SCCLayer
from veridical.testing.families import family

TEXTS = ["a lousy film", "a superb film and charming", "it was boring"]
METHODS = [
    "attention",
    "attention-last-layer",
    "attention-all-layers",
    "scaled-attention",
    "gradient",
    "input-x-gradient",
    "integrated-gradients",
    "deep-lift",
    "deep-shap(background='planted:train[:3]')",
    "lrp",
    "occlusion",
    "kernel-shap",
]


@pytest.fixture(scope="module")
def full():
    return family("bert")


@pytest.fixture(scope="module", params=[torch.bfloat16, torch.float16], ids=str)
def half(full, request):
    return Classifier.load(copy.deepcopy(full.model).to(request.param), tokenizer=full.tokenizer)


def test_answers_are_nearly_the_same(full, half):
    for one, other in zip(predict(full, TEXTS), predict(half, TEXTS), strict=True):
        assert list(one.probabilities.values()) == pytest.approx(list(other.probabilities.values()), abs=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_nearly_the_same(full, half, method):
    found = torch.tensor(explain(half, TEXTS[1], method=method)[0].scores)
    wanted = torch.tensor(explain(full, TEXTS[1], method=method)[0].scores)
    digits = {torch.bfloat16: 0.2, torch.float16: 0.05}[half.model.dtype]  # eight and eleven bits, through many layers
    assert torch.allclose(found, wanted, atol=digits * float(wanted.abs().max()))


@pytest.mark.parametrize("layer", [SCCLayer(16), IBALayer(16), L2XLayer(16)], ids=["scc", "iba", "l2x"])
def test_mask_layers_read_states_of_any_precision(full, half, layer):
    assert layer.fingerprint  # once its weights were looked at, it stands for itself and not for a model's own
    found, wanted = (torch.tensor(explain(each, TEXTS[1], method=layer)[0].scores) for each in (half, full))
    assert torch.allclose(found, wanted, rtol=0.2)


def test_an_audit_says_which_weights_it_judged(full, half):
    found = audit(half, TEXTS, ["occlusion"], ["decision-flip"], timed=0)
    assert found.model["dtype"] == str(half.model.dtype).removeprefix("torch.")
    assert "dtype" not in full.describe()
    assert len(found.values("decision-flip", "occlusion")) == len(TEXTS)


def test_a_check_finds_no_method_that_fails(half):
    found = {each.name: each.meaning for each in check(half, TEXTS).methods if each.verdict == "problem"}
    assert not found
