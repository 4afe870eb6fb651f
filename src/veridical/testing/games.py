"""Games with known Shapley values: models whose logit is a function of which words a, b, c ... are there."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations

import torch
from torch import Tensor

from veridical.core.values import Example
from veridical.masking import Case
from veridical.testing.formula import Formula

Game = Callable[[Tensor], Tensor]
"""The value of some subsets of the words, [N, n] of 0 and 1: [N]."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def formula_of(game: Game, words: int) -> Formula:
    """A model whose logit of `yes` is a game on the words a, b, c ..."""

    def logits(x: Tensor) -> Tensor:
        return torch.stack([torch.zeros(len(x)).double(), game(x)], 1)

    return Formula(dict.fromkeys(_LETTERS[:words], 1.0), logits)


def case_of(game: Game, words: int) -> Case:
    """The case of a text of so many words that such a model reads."""
    return Case.bind(formula_of(game, words), [Example.of(" ".join(_LETTERS[:words]))], target="yes")


def by_definition(game: Game, words: int) -> Tensor:
    """The Shapley values [n]: the mean over all orders of what each word adds to those before it."""
    total = torch.zeros(words, dtype=torch.float64)
    for order in permutations(range(words)):
        there = torch.zeros(1, words, dtype=torch.float64)
        before = game(there)
        for word in order:
            there[0, word] = 1
            after = game(there)
            total[word] += (after - before)[0]
            before = after
    return total / math.factorial(words)


def of_three(x: Tensor) -> Tensor:
    """A game of three words, whose Shapley values are .25, .20 and .15."""
    return 0.1 + 0.5 * x[:, 0] * x[:, 1] + 0.2 * x[:, 2] - 0.1 * x[:, 1] * x[:, 2]


def wild(x: Tensor) -> Tensor:
    """Interactions of all orders, differently strong."""
    steps = torch.arange(1, x.shape[1] + 1, dtype=torch.float64)
    return torch.sin(x @ steps.sqrt()) + x[:, 0] * x[:, 1] * x[:, 2] + (x @ (1 / steps)).tanh()


def smooth(x: Tensor) -> Tensor:
    """Saturation and a few interactions, as networks have them."""
    steps = torch.arange(1, x.shape[1] + 1, dtype=torch.float64)
    return 2 * (x @ (steps * 2).sin()).tanh() + x[:, 0] * x[:, 1] - x[:, 2] * (x @ steps.cos())
