"""Backward passes by other rules than the derivative, for any model, without a change of its code.

Autograd computes what goes back through a network from the gradient of each function. The tools here replace that
gradient: a rule is told of a torch function while the model calls it, returns the same value, and decides what the
backward pass will do there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from veridical.models import Classifier
from veridical.models.transformer import Transformer

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


@contextmanager
def module_rule(
    classifier: Classifier, kinds: Sequence[type[nn.Module]], other: Callable[..., Tensor]
) -> Iterator[None]:
    """While inside, modules of these kinds give their values with the gradient of something else.

    `other` is called with a module's function and its input, and gives that something.
    """

    def hook(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return with_gradient_of(output, other(module.forward, inputs[0]))

    # Of other classifiers no modules are known: they are formulas, or code that cannot be looked into.
    modules = classifier.model.modules() if isinstance(classifier, Transformer) else ()
    with ExitStack() as hooks:
        for module in modules:
            if type(module) in kinds:  # not of a kind derived from it, which may compute something else
                hooks.callback(module.register_forward_hook(hook).remove)
        yield


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


_SAME = 1e-10
"""The difference below which two numbers count as one, and the slope between them is the derivative."""


def rescaling(classifier: Classifier, complete: bool) -> AbstractContextManager[Any]:
    """The rules of all functions, so that shares add up, or the Rescale rule where Captum has it and nothing else."""
    return BackwardRules(COMPLETE) if complete else module_rule(classifier, CAPTUM, _line)


def rescale(func: Rule, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A function of each number by itself: the slope of the line between the number and its reference."""
    if not _is_stack(x) or any(isinstance(each, Tensor) for each in args):
        return _plain(func, x, *args, **kwargs)
    with torch.no_grad():
        value = func(x, *args, **kwargs)
    return with_gradient_of(value, _line(lambda number: func(number, *args, **kwargs), x))


def _line(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Something whose gradient is the slope of the function between each number and its reference."""
    return x * _slope(function, x)  # slopes are constants


def product(func: Rule, first: Any, second: Any, **kwargs: Any) -> Tensor:
    """A product of two things that both change: the difference of each counts with the midpoint of the other."""
    if not (_is_stack(first) and _is_stack(second) and _fit(first, second)):
        return _plain(func, first, second, **kwargs)  # one of them is the same for an input and its reference
    with torch.no_grad():
        value = func(first, second, **kwargs)
    # ab - a'b' = (a - a') (b + b')/2 + (b - b') (a + a')/2: the derivative of a product at both midpoints.
    return with_gradient_of(
        value, func(with_gradient_of(_midpoint(first), first), with_gradient_of(_midpoint(second), second), **kwargs)
    )


def einsum(func: Rule, equation: str, *factors: Any) -> Tensor:
    """A sum of products: the rule of a product where there are two factors, else the derivative."""
    each = factors[0] if isinstance(factors[0], tuple | list) else factors
    if len(each) != 2:
        return _plain(func, equation, *factors)
    return product(lambda first, second: func(equation, first, second), *each)


def quotient(func: Rule, first: Any, second: Any, **kwargs: Any) -> Tensor:
    """A quotient y = a / b of two things that both change, read as the product y b = a with its midpoint rule."""
    if kwargs or not (_is_stack(second) and _fit(first, second)):
        return _plain(func, first, second, **kwargs)
    with torch.no_grad():
        value = func(first, second)
    # From the differences a - a' = (y - y') mid(b) + (b - b') mid(y), solved for y - y'.
    return with_gradient_of(value, (first - _midpoint(value) * second) / _midpoint(second))


def softmax(func: Rule, x: Tensor, dim: int = -1, *args: Any, **kwargs: Any) -> Tensor:
    """y = exp(x - log sum exp x): each exp by its slope m, and the log sum exp by the mean of x weighted with m.

    That the y sum to 1 before and after makes this mean the right one. Adding a number to all x changes nothing.
    """
    if not _is_stack(x):
        return _plain(func, x, dim, *args, **kwargs)
    value, slope, centre = _normalised(func, x, dim, *args, **kwargs)
    # y - y' = m ((x - x') - (lse - lse')), and the difference of the log sum exp is that of the centre.
    return with_gradient_of(value, slope * (x - centre))


def log_softmax(func: Rule, x: Tensor, dim: int = -1, *args: Any, **kwargs: Any) -> Tensor:
    """y = x - log sum exp x, the latter as in the softmax."""
    if not _is_stack(x):
        return _plain(func, x, dim, *args, **kwargs)
    value, _, centre = _normalised(func, x, dim, *args, **kwargs)
    return with_gradient_of(value, x - centre)


def layer_norm(
    func: Rule,
    x: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *args: Any,
) -> Tensor:
    """A quotient y = c / s of the centred input c and its deviation s, the root of the mean of c squared.

    It is read as the product y s = c with its midpoint rule: that stays bounded where a reference is zero and its
    deviation nearly so, while the slope of 1 / s between the two would not.
    """
    if not _is_stack(x):
        return _plain(func, x, normalized_shape, weight, bias, eps, *args)
    dims = tuple(range(-len(normalized_shape), 0))
    centred = x - x.mean(dims, keepdim=True)  # keeps its gradient
    with torch.no_grad():
        value = func(x, normalized_shape, weight, bias, eps, *args)
        deviation = centred.square().mean(dims, keepdim=True).add(eps).sqrt()
        middle, between = _midpoint(centred / deviation), _midpoint(deviation)
    # Of the deviation: s^2 - s'^2 = mean(c^2 - c'^2), where both sides are a difference times a midpoint.
    change = (_midpoint(centred) * centred).mean(dims, keepdim=True) / between
    other = (centred - middle * change) / between
    return with_gradient_of(value, other if weight is None else other * weight.detach())


def _plain(func: Rule, *args: Any, **kwargs: Any) -> Tensor:
    """The function itself, with its derivative."""
    result: Tensor = func(*args, **kwargs)
    return result


def _is_stack(x: Any) -> bool:
    """Whether something may be inputs above references: weights and numbers are not."""
    return isinstance(x, Tensor) and x.requires_grad and x.dim() > 0 and len(x) % 2 == 0


def _fit(first: Tensor, second: Tensor) -> bool:
    """Whether the entries of two things belong to the same inputs."""
    return first.dim() == second.dim() and len(first) == len(second)


def _both(x: Tensor) -> tuple[Tensor, Tensor]:
    """Beside each entry its counterpart: the reference of an input, and the input of a reference."""
    return x, x.roll(len(x) // 2, 0)


def _midpoint(x: Tensor) -> Tensor:
    """The mean of each entry and its counterpart, the same in both halves; a constant for the backward pass."""
    here, there = _both(x.detach())
    return (here + there) / 2


def _slope(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The slope of the line through the function at each number and at its counterpart."""
    points = x.detach().double()  # the difference of close numbers has few digits left
    with torch.no_grad():
        run, rise = (here - there for here, there in (_both(points), _both(function(points))))
    slope, same = rise / run, run.abs() < _SAME
    # Where both are the same number there is no line, and the derivative is its limit.
    if same.any():
        leaf = points[same].requires_grad_()
        (slope[same],) = torch.autograd.grad(function(leaf).sum(), leaf)
    return slope.to(x.dtype)


@torch.no_grad()
def _normalised(func: Rule, x: Tensor, dim: int, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The value, the slope of each exp, and the mean of x weighted by the slopes, which keeps its gradient."""
    value = func(x, dim, *args, **kwargs)
    # Of log softmax instead of x: a number added to all x changes nothing, and exp cannot overflow.
    slope = _logarithmic_mean(x.log_softmax(dim))
    with torch.enable_grad():
        weights = slope / slope.sum(dim, keepdim=True)
        return value, slope, (x * weights).sum(dim, keepdim=True)


def _logarithmic_mean(logs: Tensor) -> Tensor:
    """The slope of exp between each number and its counterpart: (e^a - e^b) / (a - b)."""
    here, there = _both(logs)
    half = ((here - there) / 2).nan_to_num()  # some masks are infinite
    # e^mean sinh(half) / half, by the series of sinh where the difference of the two exps has few digits left.
    close = torch.exp((here + there) / 2) * (1 + half.square() / 6)
    return torch.where(half.abs() < 0.05, close, (here.exp() - there.exp()) / (2 * half))


CAPTUM = (nn.ReLU, nn.ELU, nn.LeakyReLU, nn.Sigmoid, nn.Tanh, nn.Softplus)
"""The modules that Captum rescales. It sees modules only: where a model calls `torch.tanh`, it takes the gradient."""

COMPLETE: dict[str, Rule] = {
    **dict.fromkeys(("relu", "tanh", "sigmoid", "elu", "leaky_relu", "softplus"), rescale),
    **dict.fromkeys(("gelu", "silu", "mish", "relu6", "hardtanh", "hardswish", "logsigmoid", "erf"), rescale),
    **dict.fromkeys(("exp", "log", "sqrt", "rsqrt", "square", "pow", "reciprocal", "abs", "sin", "cos"), rescale),
    **dict.fromkeys(("__rdiv__", "__rpow__"), rescale),
    **dict.fromkeys(("mul", "matmul", "bmm"), product),
    "einsum": einsum,
    "div": quotient,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "layer_norm": layer_norm,
}
"""Rules for everything that common classifiers are made of."""
