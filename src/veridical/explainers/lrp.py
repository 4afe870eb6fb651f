"""Layer-wise relevance propagation: each layer divides its relevance among its inputs, from the output to the words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import linear
from transformers.activations import ACT2CLS

from veridical.core.component import Positive, Weight, option
from veridical.explainers.backward_rules import BackwardRules, Rule, module_rule, pass_through, with_backward
from veridical.explainers.base import PIECES, Explainer, Scores
from veridical.masking import Case
from veridical.masking.case import Pieces
from veridical.models import Ability, Rows

LinearRule = Callable[[Tensor, Tensor, Tensor | None, Tensor], Tensor]
"""From inputs [..., i], weights [o, i], biases [o] and the outputs' relevance [..., o] to the inputs', [..., i]."""

_LEAST = 1e-7
"""What a divisor is at least, also where there is nothing to share."""


Split = Literal["contribution", "weight"]
"""What tells the inputs that raised an output from those that lowered it: weight times input, or the weight alone."""


def alpha_beta(
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    relevance: Tensor,
    alpha: float,
    epsilon: float,
    split: Split = "contribution",
) -> Tensor:
    """What raised an output gets `alpha` of its relevance, what lowered it gets the rest; then signs are dropped.

    The sizes of each example's shares are rescaled to sum to the sizes of the relevance that came in. Their signed sums
    cannot be compared: LayerNorm's gradient makes them zero.
    """
    # Positive inputs with positive weights, and negative ones with negative weights, raise an output. Split by weight,
    # all inputs are taken for positive ones.
    up, down = weight.clamp(min=0), weight.clamp(max=0)  # [o, i]
    more, less = (inputs, inputs * 0) if split == "weight" else (inputs.clamp(min=0), inputs.clamp(max=0))  # [..., i]
    bias = weight.new_zeros(len(weight)) if bias is None else bias
    # Relevance per unit of what raised, or lowered, each output; epsilon keeps both divisors from zero.
    raised = relevance / (linear(more, up, bias.clamp(min=0)) + linear(less, down) + epsilon)
    lowered = relevance / (linear(more, down, bias.clamp(max=0)) + linear(less, up) - epsilon)
    shares = alpha * (more * (raised @ up) + less * (raised @ down))
    shares = shares + (1 - alpha) * (more * (lowered @ down) + less * (lowered @ up))
    return _rescaled(shares.abs(), _mass(shares), _mass(relevance))


def epsilon_rule(inputs: Tensor, weight: Tensor, bias: Tensor | None, relevance: Tensor, epsilon: float) -> Tensor:
    """Each input counts with its signed part in the output; the stabiliser epsilon has the output's sign."""
    outputs = linear(inputs, weight, bias)
    outputs = outputs + torch.where(outputs < 0, -epsilon, epsilon)
    return inputs * ((relevance / outputs) @ weight)


def through_linear(rule: LinearRule) -> Rule:
    """The rule for `torch.nn.functional.linear`."""

    def apply(func: Rule, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        outputs: Tensor = _Linear.apply(inputs, weight, bias, rule)  # type: ignore[no-untyped-call]
        return outputs

    return apply


class FullAttention:
    """The rule of `torch.matmul` that divides the relevance of softmax(Q K^T) V among Q, K and V at once.

    With J the derivative of the context by all numbers a of Q, K and V, the share of number j is
    `a_j sum_i J_ij R_i / z_i` where `z_i = sum_j J_ij a_j`. To keep z from zero, `epsilon` times its mean size over the
    numbers of its query and head is added to its size. If `rescaled`, the sizes of a head's shares sum to those of the
    relevance that came in: shares of both signs are larger than what they add up to. One object is for one pass.
    """

    def __init__(self, epsilon: float, rescaled: bool) -> None:
        self.epsilon = epsilon
        self.rescaled = rescaled
        self._begun: list[tuple[Tensor, Tensor]] = []  # Q and K^T, each with its copy

    def __call__(self, func: Rule, first: Tensor, second: Tensor) -> Tensor:
        if not self._begun:  # a layer of BERT's kind has two products: of Q and K^T, and of the weights and V
            self._begun = [(first, _leaf(first)), (second, _leaf(second))]
            logits: Tensor = func(*(copy for _, copy in self._begun))
            return logits
        inputs, copies = zip(*self._begun, (second, _leaf(second)), strict=True)
        self._begun = []
        context = func(first, copies[-1])
        return with_backward(context, inputs, partial(self._shares, context, first.detach(), copies))

    def _shares(
        self, context: Tensor, weights: Tensor, copies: Sequence[Tensor], relevance: Tensor
    ) -> Sequence[Tensor]:
        """The shares of Q, K^T and V; the context was computed from their copies, which are leaves of a small graph."""
        # z: the context is linear in V, so that part of z is the context itself; the rest is along Q and K.
        along = context.detach() + _along(weights, copies[-1].detach())
        least = (self.epsilon * along.abs().mean(-1, keepdim=True)).clamp(min=_LEAST)
        ratios = relevance / (along + torch.where(along < 0, -least, least))
        gradients = torch.autograd.grad(context, copies, ratios)
        shares = [copy.detach() * gradient for copy, gradient in zip(copies, gradients, strict=True)]
        if not self.rescaled:
            return shares
        mass = torch.stack([_mass(each, 2) for each in shares]).sum(0)  # [B, h, 1, 1]
        return [_rescaled(each, mass, _mass(relevance, 2)) for each in shares]


def _leaf(x: Tensor) -> Tensor:
    return x.detach().requires_grad_()


def _along(weights: Tensor, values: Tensor) -> Tensor:
    """The derivative of the context in the direction of Q and K: [..., q, k] and [..., k, d] give [..., q, d].

    The logits L = Q K^T are a product, so in that direction they grow by 2 L, and the weights A by 2 A (L - sum A L).
    Here log A can stand for L: it differs by one number per query, which cancels out, and A log A is 0 where a mask
    makes L infinite.
    """
    growth = torch.xlogy(weights, weights)
    return 2 * (growth - weights * growth.sum(-1, keepdim=True)) @ values


def _mass(values: Tensor, start: int = 1) -> Tensor:
    """The sum of absolute values over all dimensions from `start` on, which are kept with length 1."""
    return values.abs().sum(tuple(range(start, values.dim())), keepdim=True)


def _rescaled(shares: Tensor, mass: Tensor, wanted: Tensor) -> Tensor:
    # In this order: the quotient of the two masses is infinite where there is nothing to rescale.
    return shares / mass.clamp(min=torch.finfo(mass.dtype).tiny) * wanted


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, rule: LinearRule) -> Tensor:
        ctx.save_for_backward(inputs, weight, bias)
        ctx.rule = rule
        return linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.rule(*ctx.saved_tensors, relevance), None, None, None


_ACTIVATIONS = tuple({entry[0] if isinstance(entry, tuple) else entry for entry in ACT2CLS.values()})
_EPSILON = {"alpha-beta": 1e-7, "epsilon": 0.25}
_ATTENTION_EPSILON = 0.25
"""Below 0.1 a few divisors close to zero decide everything; above, scores hardly change under alpha-beta."""


@dataclass(frozen=True)
class LRP(Explainer):
    """How much relevance of the output reaches each word, after Wu and Ong: sizes without a sign, by rules of thumb.

    Linear layers hand relevance back in proportion to what went through them, activations as it is, LayerNorm, sums and
    attention by their gradient. The rules are not derived from what the model does when a word changes, and relevance
    is conserved in linear layers only. Models of BERT's kind only. Wu and Ong 2021.
    """

    rule: Literal["alpha-beta", "epsilon"] = option(
        "alpha-beta", "Take sizes after every linear layer, as published, or keep signs until the end."
    )
    alpha: Weight = option(0.5, "The part of relevance that goes to what raised an output; only for rule=alpha-beta.")
    epsilon: Positive | None = option(
        None, "What keeps divisors from zero: 1e-7 unless given, or 0.25 for rule=epsilon, which needs 0.1 or more."
    )
    split: Split = option(
        "contribution",
        "Tell what raised an output from what lowered it by weight times input, or, as published, by the weight alone; "
        "only for rule=alpha-beta.",
    )
    attention: Literal["quick", "full"] = option(
        "quick", "Go back through attention by its gradient, or by what queries, keys and values each contribute."
    )
    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS, Ability.HIDDEN, Ability.BERT_LAYERS})
    cost: ClassVar[str] = "1 forward, 1 backward"
    meaning: ClassVar[str] = (
        "How much relevance, handed back from the output layer by layer, reaches the word. Never negative."
    )
    weakness: ClassVar[str] = (
        "A heuristic without a sign: its rules do not follow from what the model does when a word changes, and no "
        "check tells how far off it is. By default, two details differ from the published rules."
    )

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def relevance(rows: Rows, logit_gradient: Tensor) -> Tensor:
            # Without embeddings that want a gradient, a frozen model would build no graph.
            embeds = case.classifier.embed(rows).detach().requires_grad_()
            # As modules, too: ALBERT, for one, computes its activation by several functions.
            with self._rules(), module_rule(case.classifier, _ACTIVATIONS, lambda _, x: x):
                output = case.classifier.run(rows, embeds=embeds, hidden=True)
            assert output.hidden is not None
            entering = output.hidden[0]
            # Relevance starts as the target's logit; under the rules, what autograd brings back is relevance.
            (reached,) = torch.autograd.grad(output.logits, entering, output.logits.detach() * logit_gradient)
            return reached.abs().sum(-1)

        return Scores(case.to_units(case.rowwise(relevance), self.pieces))

    def _rules(self) -> BackwardRules:
        epsilon = _EPSILON[self.rule] if self.epsilon is None else self.epsilon
        # The default keeps a divisor of the epsilon rule, which may have any sign, well away from zero.
        rule: LinearRule = partial(epsilon_rule, epsilon=epsilon)
        if self.rule == "alpha-beta":
            rule = partial(alpha_beta, alpha=self.alpha, epsilon=epsilon, split=self.split)
        table: dict[str, Rule] = dict.fromkeys(("tanh", "relu", "gelu", "silu"), pass_through)
        if self.attention == "full":
            table["matmul"] = FullAttention(_ATTENTION_EPSILON, rescaled=self.rule == "alpha-beta")
        return BackwardRules({"linear": through_linear(rule), **table})
