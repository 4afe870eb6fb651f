"""Layer-wise relevance propagation: the output, handed back layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from transformers.activations import ACT2CLS

from veridical.explainers.base import Scores
from veridical.explainers.relevance import FullAttention, LinearRule, alpha_beta, epsilon_rule, through_linear
from veridical.explainers.rules import Rule, Rules, route, straight
from veridical.masking import Case
from veridical.masking.case import Pieces
from veridical.models import Classifier, Rows
from veridical.models.transformer import Transformer

_ACTIVATIONS = tuple({entry[0] if isinstance(entry, tuple) else entry for entry in ACT2CLS.values()})
_EPSILON = {"alpha-beta": 1e-7, "epsilon": 0.25}
_ATTENTION_EPSILON = 0.25
"""Below 0.1 a few divisors close to zero decide; from there on the scores hardly change under alpha-beta."""


@dataclass(frozen=True)
class LRP:
    """How much relevance of the output reaches each word, after Wu and Ong: sizes without a sign, by rules of thumb.

    Linear layers hand relevance back in proportion to what went through them, activations as it is, LayerNorm, sums and
    attention by their gradient. The rules are not derived from what the model does when a word changes, and relevance
    is conserved in linear layers only. `rule=alpha-beta` takes sizes after every linear layer, with the share `alpha`
    for what raised an output; `epsilon` keeps signs on the way. The option `epsilon` keeps divisors from zero, by
    default 1e-7, and 0.25 under the rule of that name, which grows without bound below 0.1. `attention=full`
    shares relevance out among queries, keys and values in proportion to what each contributes to first order (the full
    Jacobian times its inputs); under alpha-beta, attention then conserves it too. Models of BERT's kind only.
    """

    rule: Literal["alpha-beta", "epsilon"] = "alpha-beta"
    alpha: float = 0.5
    epsilon: float | None = None
    attention: Literal["quick", "full"] = "quick"
    pieces: Pieces = "sum"
    needs: ClassVar[frozenset[str]] = frozenset({"gradients", "hidden", "bert-layers"})
    cost: ClassVar[str] = "1 forward, 1 backward"
    meaning: ClassVar[str] = (
        "How much relevance, handed back from the output layer by layer, reaches the word. Never negative."
    )
    weakness: ClassVar[str] = (
        "A heuristic without a sign: its rules do not follow from what the model does when a word changes, and no "
        "check tells how far off it is. Two details differ from the published rules."
    )

    def passes(self, units: int) -> int:
        return 1

    def scores(self, case: Case) -> Scores:
        def relevance(rows: Rows, pull: Tensor) -> Tensor:
            # Without embeddings that want a gradient, a frozen model would build no graph.
            embeds = case.classifier.embed(rows).detach().requires_grad_()
            with self._rules(), _straight_activations(case.classifier):
                output = case.classifier.run(rows, embeds=embeds, hidden=True)
            assert output.hidden is not None
            entering = output.hidden[0]
            (handed,) = torch.autograd.grad(output.logits, entering, output.logits.detach() * pull)
            return handed.abs().sum(-1)

        return Scores(case.to_units(case.rowwise(relevance), self.pieces))

    def _rules(self) -> Rules:
        epsilon = _EPSILON[self.rule] if self.epsilon is None else self.epsilon
        rule: LinearRule = partial(epsilon_rule, epsilon=epsilon)
        if self.rule == "alpha-beta":
            rule = partial(alpha_beta, alpha=self.alpha, epsilon=epsilon)
        table: dict[str, Rule] = dict.fromkeys(("tanh", "relu", "gelu", "silu"), straight)
        if self.attention == "full":
            table["matmul"] = FullAttention(_ATTENTION_EPSILON, rescaled=self.rule == "alpha-beta")
        return Rules({"linear": through_linear(rule), **table})


@contextmanager
def _straight_activations(classifier: Classifier) -> Iterator[None]:
    """Also those activations hand relevance back as it is that are made of several functions, as in ALBERT."""
    assert isinstance(classifier, Transformer)  # only they have layers of BERT's kind

    def hook(_module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        return route(output, inputs[0])

    with ExitStack() as hooks:
        for module in classifier.model.modules():
            if isinstance(module, _ACTIVATIONS):
                hooks.callback(module.register_forward_hook(hook).remove)
        yield
