"""The gradient of what a student achieves by what it was taught with: one step of training, differentiated through."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, autograd

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
