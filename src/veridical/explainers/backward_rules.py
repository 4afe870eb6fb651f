"""Other rules than the derivative for the way back through a network, for any model and without its help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

Rule = Callable[..., Any]
"""Called with a torch function and its arguments; gives what the function gives, but with another way back."""


class BackwardRules(TorchFunctionMode):
    """While active, the torch functions named in a table follow their rules instead of the plain derivative.

    The values that a model computes stay the same. Leave it before going back: the rules are for the way forth.

    >>> with Rules({"tanh": straight}):
    ...     logits = classifier.run(rows, embeds=leaf).logits
    >>> torch.autograd.grad(logits.sum(), leaf)
    """

    def __init__(self, table: Mapping[str, Rule]) -> None:
        super().__init__()
        self.table = table

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        rule = self.table.get(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {})) if rule is None else rule(func, *args, **(kwargs or {}))


def with_gradient_of(value: Tensor, other: Tensor) -> Tensor:
    """A value whose gradient is that of something else of its shape."""
    routed: Tensor = _GradientOf.apply(value.detach(), other)  # type: ignore[no-untyped-call]
    return routed


def pass_through(func: Rule, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The rule that hands on what comes back as it is."""
    with torch.no_grad():
        value = func(x, *args, **kwargs)
    return with_gradient_of(value, x)


def with_backward(value: Tensor, inputs: Sequence[Tensor], back: Callable[[Tensor], Sequence[Tensor]]) -> Tensor:
    """A value that hands back to some inputs what a function makes of what comes back to it."""
    result: Tensor = _Backward.apply(value.detach(), back, *inputs)  # type: ignore[no-untyped-call]
    return result


class _GradientOf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, other: Tensor) -> Tensor:
        return value.clone()  # a view could not be written to, as some models do

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, gradient


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, back: Callable[[Tensor], Sequence[Tensor]], *inputs: Tensor) -> Tensor:
        ctx.back = back
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.back(gradient)
