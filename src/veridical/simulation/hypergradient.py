"""The gradient of what a student achieves by what it was taught with, and the optimiser that follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, autograd, distributed

Tensors = Sequence[Tensor]

Update = Callable[[Tensors, Tensors], Tensors]
"""New weights from weights and their gradients, as a pure function."""


def stepped(weights: Tensors, gradients: Tensors, rate: float, decay: float, clip: float) -> list[Tensor]:
    """The weights after a step of gradient descent with weight decay; longer gradients are cut to `clip` together."""
    length = torch.stack([gradient.square().sum() for gradient in gradients]).sum()
    shrink = clip / length.clamp(min=clip**2).sqrt()  # a root of 0 would have no derivative
    pairs = zip(weights, gradients, strict=True)
    return [weight - rate * (shrink * gradient + decay * weight) for weight, gradient in pairs]


def hypergradient(
    inner: Callable[[], Tensor],
    outer: Callable[[Tensors], Tensor],
    weights: Tensors,
    phi: Tensors,
    update: Update,
    mean: Callable[[Tensors], Tensors] = lambda own: own,
) -> list[Tensor]:
    """The derivative of an outer loss, after one more step on an inner loss, by parameters of the inner loss.

    `inner()` is the loss by `weights` and `phi`, which want gradients; `outer` is asked with the weights after the
    step, which is not taken. Neither changes the weights. What the derivative flows through is written out: the step's
    gradient depends on `phi`, the new weights on the gradient, the outer loss on the new weights. So only vectors as
    long as the weights go from one to the other, and `mean` can take them over several processes that have a part of
    the examples each: then it is exactly what one process with all of them would find.
    """
    weights, phi = list(weights), list(phi)
    gradients = autograd.grad(inner(), weights, create_graph=True, allow_unused=True, materialize_grads=True)
    together = [each.detach().requires_grad_() for each in mean([gradient.detach() for gradient in gradients])]
    after = update([weight.detach() for weight in weights], together)
    pilot = [each.detach().requires_grad_() for each in after]
    wanted = mean(autograd.grad(outer(pilot), pilot, allow_unused=True, materialize_grads=True))
    # How much the outer loss changes with the gradient of the step, clipping included; then with what it depends on.
    by_gradient = autograd.grad(after, together, wanted)
    moving = [(gradient, by) for gradient, by in zip(gradients, by_gradient, strict=True) if gradient.requires_grad]
    if not moving:  # nothing that the step depends on can be changed by `phi`
        return [torch.zeros_like(each) for each in phi]
    own, by = zip(*moving, strict=True)
    found = autograd.grad(own, phi, by, allow_unused=True, materialize_grads=True)
    return list(mean(found))


def over_processes(own: Sequence[Tensor]) -> Sequence[Tensor]:
    """The mean of tensors over all processes that train together; one on its own has its own."""
    if not distributed.is_initialized() or distributed.get_world_size() == 1:
        return own
    flat = torch.cat([each.reshape(-1) for each in own])
    distributed.all_reduce(flat)
    parts = torch.split(flat / distributed.get_world_size(), [each.numel() for each in own])
    return [part.view_as(each) for part, each in zip(parts, own, strict=True)]


class OuterAdam:
    """Adam with its small number inside the root, without decay: tiny gradients take tiny steps.

    Usual Adam takes a full step for a gradient of 1e-5; this one a tenth of it, and of one of 1e-3 nearly a full one.
    """

    def __init__(self, parameters: Sequence[Tensor], rate: float, root: float, clip: float) -> None:
        self.parameters, self.rate, self.root, self.clip = list(parameters), rate, root, clip
        self.moments = [torch.zeros_like(each) for each in self.parameters]
        self.squares = [torch.zeros_like(each) for each in self.parameters]
        self.steps = 0

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Take a step against some gradients, cut to a length of `clip` together."""
        self.steps += 1
        length = torch.stack([each.square().sum() for each in gradients]).sum().sqrt()
        shrink = (self.clip / length.clamp(min=self.clip)).item()
        with torch.no_grad():
            for own, moment, square, given in zip(self.parameters, self.moments, self.squares, gradients, strict=True):
                gradient = shrink * given
                moment.mul_(0.9).add_(gradient, alpha=0.1)
                square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                mean, scale = moment / (1 - 0.9**self.steps), square / (1 - 0.999**self.steps)
                own.sub_(self.rate * mean / (scale + self.root).sqrt())
