from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations

import pytest
import torch

from veridical.core.values import TEXT, Example, Unit
from veridical.masking import Case, Engine
from veridical.testing import Formula

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def marked_case() -> Callable[..., Case]:
    """A case of one text per string of 0 and 1: a word for each of them, and evidence where there is a 1."""

    def case(*golds: str) -> Case:
        return Case.bind(Formula.linear(dict.fromkeys(LETTERS, 1.0)), [_example(gold) for gold in golds])

    return case


@pytest.fixture
def scores_of() -> Callable[..., torch.Tensor]:
    """Rows of scores of any lengths as one tensor, with zeros after the shorter ones."""

    def padded(*rows: list[float]) -> torch.Tensor:
        width = max(map(len, rows))
        return torch.tensor([[*row, *[0.0] * (width - len(row))] for row in rows])

    return padded


def _example(gold: str) -> Example:
    evidence = [Unit(TEXT, (2 * at, 2 * at + 1), LETTERS[at]) for at, mark in enumerate(gold) if mark == "1"]
    return Example(gold, {TEXT: " ".join(LETTERS[: len(gold)])}, evidence=tuple(evidence))


Says = Callable[[frozenset[str]], float]


@pytest.fixture
def case_of() -> Callable[..., Case]:
    """A case of a model given by what it says: the probability of `yes` for each set of words it sees."""

    def case(words: str, says: Says, texts: Sequence[str] = (), target: str = "yes", **engine: object) -> Case:
        examples = [Example(str(at), {TEXT: " ".join(text)}) for at, text in enumerate(texts or [words])]
        return Case.bind(_model(words, says), examples, target=target, engine=Engine(**engine))

    return case


@pytest.fixture
def any_model() -> Callable[[str, int], Says]:
    """Any probability for any set of words."""

    def says(words: str, seed: int) -> Says:
        draw = random.Random(seed)
        return {seen: draw.uniform(0.01, 0.99) for seen in _sets(words)}.__getitem__

    return says


def _sets(words: str) -> list[frozenset[str]]:
    return [frozenset(some) for size in range(len(words) + 1) for some in combinations(words, size)]


def _model(words: str, says: Says) -> Formula:
    table = torch.zeros(2 ** len(words), dtype=torch.double)
    for seen in _sets(words):
        table[sum(2 ** words.index(word) for word in seen)] = says(seen)

    def logits(values: torch.Tensor) -> torch.Tensor:
        yes = table[values.sum(1).long()]  # each word has a bit of its own
        return torch.stack([1 - yes, yes], 1).log()

    return Formula({word: 2.0**place for place, word in enumerate(words)}, logits)
