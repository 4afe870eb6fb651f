"""Options of explainers: what is beyond their limits is refused when a method is made, before any model is asked."""

import pytest

from veridical.core.errors import UsageError
from veridical.explainers import EXPLAINERS, DeepLift, DeepSHAP, IntegratedGradients, KernelShap, Lime, Occlusion
from veridical.explainers.coalitions import enough_samples


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("integrated-gradients(steps=0)", "steps is a whole number, 1 or more, or auto"),
        ("integrated-gradients(steps=many)", "steps is a whole number, 1 or more, or auto"),
        ("integrated-gradients(steps=2.5)", "steps is a whole number, 1 or more, or auto"),
        ("integrated-gradients(tolerance=-0.1)", "tolerance is 0 or more"),
        ("integrated-gradients(most=15)", "most is 16 or more"),
        ("integrated-gradients(rule=simpson)", "rule is one of: gauss-legendre, midpoint"),
        ("lime(samples=0)", "samples is 1 or more"),
        ("lime(width=0)", "width is more than 0"),
        ("lime(ridge=-1)", "ridge is 0 or more"),
        ("lime(seed=-1)", "seed is 0 or more"),
        ("lime(bow=1)", "bow is true or false"),
        ("lime(eraser=msk)", "Did you mean 'mask'"),
        ("kernel-shap(samples=1)", "samples is a whole number, 2 or more, or auto"),
        ("kernel-shap(tolerance=-1)", "tolerance is 0 or more"),
        ("kernel-shap(null_value=none_at_all)", "null_value is a number or none"),
        ("kernel-shap(ridge=-1)", "unknown option of kernel-shap 'ridge'"),
        ("kernel-shap(eraser=unmask)", "unknown eraser 'unmask'"),
        ("deep-shap(samples=1)", "samples is 2 or more"),
        ("deep-lift(complete=maybe)", "complete is true or false"),
        ("lrp(alpha=-1)", "alpha is 0 or more"),
        ("lrp(epsilon=0)", "epsilon is more than 0"),
        ("random(seed=4294967296)", "seed is 0 or more and at most 4294967295"),
        ("occlusion(eraser='mask(x=1)')", "unknown option of mask 'x'"),
        ("attention(pieces=median)", "pieces is one of: sum, mean, max, first"),
    ],
)
def test_beyond_the_limits(text, problem):
    with pytest.raises(UsageError, match=problem):
        EXPLAINERS.create(text)


def test_the_same_is_refused_in_python():
    with pytest.raises(UsageError, match=r"Lime\(samples=0\) is beyond its limits. samples is 1 or more"):
        Lime(samples=0)
    with pytest.raises(UsageError, match="unknown eraser 'unmask'"):
        Occlusion(eraser="unmask")


@pytest.mark.parametrize(
    ("method", "cheap"),
    [
        (Lime(), Lime(samples=128)),
        (KernelShap(seed=3), KernelShap(samples=128, seed=3)),
        (DeepSHAP(), DeepSHAP(samples=8)),
        (Occlusion(), Occlusion()),
    ],
)
def test_a_cheap_form_for_trials(method, cheap):
    assert method.quick(20) == cheap


def test_a_cheap_form_has_samples_for_all_words():
    assert enough_samples(100) == 202
    assert Lime().quick(100).samples == KernelShap().quick(100).samples == 202


def test_the_remedy_may_depend_on_the_options():
    assert DeepLift(complete=False).remedy == "Use deep-lift(complete=true)."
    assert "integrated-gradients" in DeepLift().remedy
    assert "most=1024" in IntegratedGradients().remedy
