"""Integrated gradients: quadrature, completeness, and as many steps as a text needs."""

import pytest
import torch

from veridical.core.errors import UsageError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, IntegratedGradients
from veridical.explainers.integrated_gradients import finer, quadrature
from veridical.masking import Case
from veridical.testing import Formula, image_classifier, pair_classifier, text_classifier


def case_of(formula, *texts, **options):
    return Case.bind(formula, [Example.of(text, str(index)) for index, text in enumerate(texts)], **options)


def product(x):
    value = x[:, 0] ** 2 * x[:, 1] + 3 * x[:, 1]
    return torch.stack([torch.zeros_like(value), value], 1)


@pytest.mark.parametrize(
    ("rule", "steps", "total"),
    [
        ("midpoint", 50, 6.9996),
        ("trapezoid", 50, 7.0008),
        ("left", 50, 6.8808),
        ("right", 50, 7.1208),
        ("gauss-legendre", 50, 7.0),
        ("midpoint", 10, 6.99),
        ("trapezoid", 10, 7.02),
    ],
)
def test_integrated_gradients_of_a_product(rule, steps, total):
    """f = x1^2 x2 + 3 x2 at (2, 1) from 0: exactly (2.666667, 4.333333)."""
    case = case_of(Formula({"two": 2.0, "one": 1.0}, product), "two one", target="yes")
    scores = IntegratedGradients(steps=steps, rule=rule).scores(case).values
    assert scores.sum().item() == pytest.approx(total, abs=5e-5)
    if rule == "gauss-legendre":
        assert scores[0].tolist() == pytest.approx([8 / 3, 13 / 3], abs=1e-6)


@pytest.mark.parametrize("rule", ["gauss-legendre", "midpoint", "trapezoid", "left", "right"])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_quadrature_weights_sum_to_one(rule, steps):
    points, weights = quadrature(rule, steps)
    assert weights.sum().item() == pytest.approx(1)
    assert len(points) == len(weights)
    assert points.min() >= 0
    assert points.max() <= 1


def test_the_refinable_rule_integrates_and_keeps_its_points():
    """The integral of 3 x^2 is 1; the points of all levels together are those of the trapezoid rule in sqrt(x)."""
    steps, points, weights = finer(0)
    total, seen = (3 * points**2 * weights).sum(), points
    for _ in range(3):
        assert total.item() / steps == pytest.approx(1, abs=10 / steps**2)
        steps, points, weights = finer(steps)
        total, seen = total + (3 * points**2 * weights).sum(), torch.cat([seen, points])
    expected = torch.arange(1, steps + 1, dtype=torch.float64) / steps
    torch.testing.assert_close(seen.sqrt().sort().values, expected)


@pytest.mark.parametrize("output", ["logit", "prob", "logprob"])
@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier], ids=lambda s: s.__name__)
def test_shares_add_up_on_a_transformer(sample, output):
    classifier, examples = sample()
    case = Case.bind(classifier, examples)
    measures = IntegratedGradients(steps=40, output=output).scores(case).measures
    rows = case.batch.rows
    with torch.no_grad(), classifier.evaluating():
        nothing = classifier.run(rows, embeds=torch.zeros_like(classifier.embed(rows))).logits
    difference = case.scaled(case.output.logits, case.targets, output) - case.scaled(nothing, case.targets, output)
    torch.testing.assert_close(measures["difference"], difference)
    torch.testing.assert_close(measures["residual"], torch.zeros(len(case)), atol=1e-4, rtol=0)


@pytest.mark.parametrize("tolerance", [0.1, 0.001])
def test_steps_double_until_the_residual_is_small_enough(tolerance):
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples)
    found = IntegratedGradients(tolerance=tolerance).scores(case)
    steps = case.asked - 2  # one for the whole text, one for nothing
    assert set(steps.tolist()) <= {16, 32, 64, 128}
    exact = IntegratedGradients(steps=100).scores(Case.bind(classifier, examples))
    torch.testing.assert_close(found.values, exact.values, atol=0.02 * exact.values.abs().sum(1).max().item(), rtol=0)
    unfinished = steps == 128
    # The sum over words is at most that over all positions, so this is a little stricter than the method is.
    allowed = tolerance * found.measures["difference"].abs() + tolerance * found.values.abs().sum(1) * 3
    assert (unfinished | (found.measures["residual"].abs() <= allowed)).all()


def test_a_harder_text_gets_more_steps_than_an_easy_one():
    def steep(x):
        value = torch.tanh(40 * (x.sum(1) - 0.5))  # a step in the middle of the way
        return torch.stack([torch.zeros_like(value), value], 1)

    case = case_of(Formula({"flat": 0.001, "steep": 1.0}, steep), "flat", "steep", target="yes")
    IntegratedGradients().scores(case)
    easy, hard = case.asked.tolist()
    assert easy < hard


def test_the_number_of_steps_is_bounded():
    def kink(x):
        value = (x.sum(1) - 0.317).abs().sqrt()
        return torch.stack([torch.zeros_like(value), value], 1)

    case = case_of(Formula({"x": 1.0}, kink), "x", target="yes")
    found = IntegratedGradients(tolerance=1e-9, most=32).scores(case)
    assert case.asked.tolist() == [34]
    assert found.measures["residual"].abs().item() > 1e-6  # and says that it is not exact


@pytest.mark.parametrize(("most", "steps"), [(16, 16), (31, 16), (100, 64)])
def test_the_limit_of_steps_is_never_passed(most, steps):
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples)
    IntegratedGradients(tolerance=0.0, most=most).scores(case)
    assert set(case.asked.tolist()) == {steps + 2}


def test_too_few_steps_are_refused_when_the_method_is_made():
    with pytest.raises(UsageError, match=r"IntegratedGradients\(most=8\) is beyond its limits. most is 16 or more"):
        IntegratedGradients(most=8)
    with pytest.raises(
        UsageError, match=r"integrated-gradients\(steps=0\) .* steps is a whole number, 1 or more, or auto"
    ):
        EXPLAINERS.create("integrated-gradients(steps=0)")


def test_the_content_baseline_shares_out_the_difference_that_words_make():
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples)
    found = IntegratedGradients(steps=60, baseline="content").scores(case)
    torch.testing.assert_close(found.values.sum(1), found.measures["difference"], atol=1e-3, rtol=0)


def test_errors_that_cancel_out_in_the_residual_are_seen():
    """f = sin(k x1) - sin(k x2) at (1, 1) from 0: the difference is 0, so the residual is 0 however wrong words are."""

    def waves(x):
        value = torch.sin(20 * x[:, 0]) - torch.sin(20 * x[:, 1])
        return torch.stack([torch.zeros_like(value), value], 1)

    case = case_of(Formula({"one": 1.0, "other": 1.0}, waves), "one other", target="yes")
    found = IntegratedGradients().scores(case)
    assert found.measures["residual"].abs().item() < 1e-6
    assert case.asked.item() - 2 > 16
    wave = torch.sin(torch.tensor(20.0)).item()
    assert found.values[0].tolist() == pytest.approx([wave, -wave], abs=0.02)


def test_the_published_rows_of_smat_see_the_beginning_of_the_path_only():
    points, weights = quadrature("smat-code", 10)
    assert points.tolist() == pytest.approx([at / 90 for at in range(9)] + [0.05])
    assert weights.tolist() == pytest.approx([0.05, *[0.1] * 8, 0.05])
    assert points.max() == pytest.approx(0.0889, abs=1e-4)
