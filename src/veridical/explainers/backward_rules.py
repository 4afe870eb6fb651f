"""Backward passes by other rules than the derivative, for any model, without a change of its code.

Autograd computes what goes back through a network from the gradient of each function. The tools here replace that
gradient: a rule is told of a torch function while the model calls it, returns the same value, and decides what the
backward pass will do there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

Rule = Callable[..., Any]
"""Called with a torch function and its arguments; returns what the function returns, with another gradient."""


class BackwardRules(TorchFunctionMode):
    """While active, the torch functions named in a table follow their rules instead of the plain derivative.

    The values that a model computes stay the same. The forward pass goes inside, the backward pass outside of it: rules
    take part when a function is called, and the backward pass calls functions of its own.

    >>> with BackwardRules({"tanh": pass_through}):
    ...     logits = classifier.run(rows, embeds=leaf).logits
    >>> torch.autograd.grad(logits.sum(), leaf)
    """

    def __init__(self, table: Mapping[str, Rule]) -> None:
        super().__init__()
        self.table = table

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # By name: the same function exists as torch.tanh, Tensor.tanh and torch.nn.functional.tanh.
        rule = self.table.get(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {})) if rule is None else rule(func, *args, **(kwargs or {}))


def with_gradient_of(value: Tensor, other: Tensor) -> Tensor:
    """A value whose gradient is that of something else of the same shape."""
    routed: Tensor = _GradientOf.apply(value.detach(), other)  # type: ignore[no-untyped-call]
    return routed


def pass_through(func: Rule, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The rule of a function through which gradients pass unchanged, as if it returned its input."""
    with torch.no_grad():  # the function's own graph would be built for nothing
        value = func(x, *args, **kwargs)
    return with_gradient_of(value, x)


def with_backward(value: Tensor, inputs: Sequence[Tensor], back: Callable[[Tensor], Sequence[Tensor]]) -> Tensor:
    """A value with a backward pass of its own: `back` gets the value's gradient, and returns those of the inputs."""
    result: Tensor = _Backward.apply(value.detach(), back, *inputs)  # type: ignore[no-untyped-call]
    return result


class _GradientOf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, other: Tensor) -> Tensor:
        return value.clone()  # some models write into it, which autograd refuses for a view of an input

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, gradient  # nothing for the value, everything for what stands in for it


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, back: Callable[[Tensor], Sequence[Tensor]], *inputs: Tensor) -> Tensor:
        ctx.back = back
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.back(gradient)  # the value and the function have no gradient
