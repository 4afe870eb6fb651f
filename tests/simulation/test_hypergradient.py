"""The hypergradient: known answers, finite differences, and what it must not flow through."""

import pytest
import torch

from veridical.simulation.hypergradient import hypergradient, stepped

RATE, BETA = 0.1, 5.0


def scalar(value):
    return torch.tensor(value, dtype=torch.double, requires_grad=True)


def learned(theta, phi, beta=BETA):
    return (theta - 1) ** 2 / 2 + beta * (theta - phi) ** 2 / 2


def plainly(weights, gradients):
    return stepped(weights, gradients, RATE, 0.0, 1e9)


def of_scalars(theta, phi, beta=BETA, update=plainly):
    weights = [scalar(theta)]
    phi = scalar(phi)
    [found] = hypergradient(
        lambda: learned(weights[0], phi, beta), lambda after: (after[0] - 2) ** 2 / 2, weights, [phi], update
    )
    return float(found)


def test_it_flows_through_the_pilot_step_only():
    """A real step from 0 leads to .35, the pilot step to .49. Through both steps it would be -1.057."""
    theta, phi = scalar(0.0), scalar(0.5)
    [after] = plainly([theta.detach()], torch.autograd.grad(learned(theta, phi), theta))
    assert float(after) == pytest.approx(0.35)
    assert of_scalars(float(after), 0.5) == pytest.approx(-0.755)
    assert 0.5 - 0.5 * of_scalars(float(after), 0.5) == pytest.approx(0.8775)


def test_without_a_part_of_the_explanation_in_the_loss_it_is_exactly_0():
    assert of_scalars(0.35, 0.5, beta=0.0) == 0.0


def test_it_agrees_with_finite_differences_also_where_gradients_are_cut():
    """Two weights, decay, and a gradient far longer than the clip, whose length depends on phi."""
    start = torch.tensor([0.3, -0.7], dtype=torch.double)
    target = torch.tensor([0.2, 0.9], dtype=torch.double)

    def update(weights, gradients):
        return stepped(weights, gradients, 0.2, 0.05, 0.1)

    def inner(weights, phi):
        return (3 * (weights[0] - target) ** 2).sum() + (phi.square() * weights[0].sin()).sum()

    def outer(after):
        return (after[0] - 2).square().sum()

    def achieved(phi):
        weights = [start.clone().requires_grad_()]
        gradients = torch.autograd.grad(inner(weights, phi), weights)
        return float(outer(update([start], gradients)))

    phi = torch.tensor([0.4, 1.1], dtype=torch.double, requires_grad=True)
    weights = [start.clone().requires_grad_()]
    [found] = hypergradient(lambda: inner(weights, phi), outer, weights, [phi], update)
    for at in range(2):
        nudge = torch.zeros(2, dtype=torch.double)
        nudge[at] = 1e-6
        slope = (achieved(phi.detach() + nudge) - achieved(phi.detach() - nudge)) / 2e-6
        assert float(found[at]) == pytest.approx(slope, rel=1e-6)
    assert torch.equal(weights[0].detach(), start)  # the step was not taken


def test_parts_of_a_batch_in_several_processes_give_what_one_process_finds():
    """`mean` stands for what processes tell each other: here both are computed one after the other."""
    data = torch.tensor([[1.0, 0.5], [-0.4, 2.0], [0.3, 0.3], [1.5, -1.0]], dtype=torch.double)

    def run(parts, mean_of):
        weights = torch.tensor([0.3, -0.2], dtype=torch.double, requires_grad=True)
        phi = torch.tensor([0.7, 0.1], dtype=torch.double, requires_grad=True)

        def inner(part):
            return ((data[part] * weights).sum(1) - (data[part] * phi).sum(1)).square().mean()

        def outer(part, after):
            return ((data[part] * after[0]).sum(1) - 1).square().mean()

        return weights, phi, inner, outer

    def whole():
        weights, phi, inner, outer = run(None, None)
        everything = slice(0, 4)
        return hypergradient(
            lambda: inner(everything), lambda after: outer(everything, after), [weights], [phi], clipped
        )[0]

    def clipped(weights, gradients):
        return stepped(weights, gradients, 0.3, 0.01, 0.5)

    halves = [slice(0, 2), slice(2, 4)]
    rounds = [[None, None] for _ in range(3)]
    for turn in range(3):  # each turn knows what all earlier rounds of telling gave
        for place, half in enumerate(halves):
            weights, phi, inner, outer = run(None, None)
            calls = iter(range(3))

            def mean(own, place=place, calls=calls, turn=turn):
                at = next(calls)
                if at < turn:
                    return [sum(pair) / 2 for pair in zip(*rounds[at], strict=True)]
                if at == turn:
                    rounds[at][place] = [each.detach() for each in own]
                return own

            hypergradient(
                lambda half=half, inner=inner: inner(half),
                lambda after, half=half, outer=outer: outer(half, after),
                [weights],
                [phi],
                clipped,
                mean,
            )
    [found] = [sum(pair) / 2 for pair in zip(*rounds[2], strict=True)]
    torch.testing.assert_close(found, whole())


def test_a_step_cuts_all_gradients_together_and_lets_weights_decay():
    weights, gradients = (
        [torch.tensor([1.0, 2.0]), torch.tensor([3.0])],
        [torch.tensor([3.0, 0.0]), torch.tensor([4.0])],
    )
    first, second = stepped(weights, gradients, 0.1, 0.5, 1.0)  # the length is 5
    torch.testing.assert_close(first, torch.tensor([1 - 0.1 * (0.6 + 0.5), 2 - 0.1 * (0.0 + 1.0)]))
    torch.testing.assert_close(second, torch.tensor([3 - 0.1 * (0.8 + 1.5)]))


def test_a_step_without_a_gradient_has_a_derivative():
    gradient = torch.zeros(2, requires_grad=True)
    [after] = stepped([torch.ones(2)], [gradient], 0.1, 0.0, 1.0)
    (found,) = torch.autograd.grad(after.sum(), gradient)
    assert torch.isfinite(found).all()
