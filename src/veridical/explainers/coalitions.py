"""Which parts of a text to ask about: coalitions of its words, drawn in pairs with their complements.

A pair is stored as one coalition [n]; the words that are not in it are the other one. Write the model as the sum of two
functions of the coalition: one that stays the same when present and missing words change places, and one that changes
its sign. Shapley values depend on the second only, and half of the difference between a pair's two values is that
function, without the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from veridical.masking import Case
from veridical.masking.case import Scale

_FEW = 128


def ask_each(case: Case, examples: Sequence[int], kept: Sequence[Tensor], scale: Scale) -> list[Tensor]:
    """The values of coalitions [m, n] of several examples' words, asked together: [m] for each example."""
    # One batch of questions for all examples, so that short texts do not run in small batches of their own.
    counts = [len(each) for each in kept]
    keep = torch.zeros(sum(counts), case.live.shape[1], dtype=torch.bool)
    ends = list(accumulate(counts))
    spans = [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]
    for span, each in zip(spans, kept, strict=True):
        keep[span, : each.shape[1]] = each
    found = case.ask(torch.tensor(examples).repeat_interleave(torch.tensor(counts)), keep, scale)
    return [found[span] for span in spans]


def enough_samples(words: int) -> int:
    """How many questions are enough to try a method out: more than it refuses to begin with, and not many more."""
    return max(_FEW, 2 * words + 2)


def number_of_pairs(words: int) -> int:
    """How many pairs there are beside the one of all words and none."""
    return (1 << words - 1) - 1


def all_pairs(words: int) -> Tensor:
    """One coalition of every pair but that of all words and none, [2^(n-1) - 1, n]; the last word is never in it."""
    # The bits of the numbers 1, 2, ... are the coalitions; with one bit fewer than words, no complement is among them.
    codes = torch.arange(1, 2 ** (words - 1))[:, None]
    return (codes >> torch.arange(words)) & 1 > 0


def spread_pairs(words: int, count: int, generator: torch.Generator) -> Tensor:
    """Different pairs [m, n], at most `count`: single words first, then all sizes in turn, drawn at random.

    Every size has the same number of pairs, as in leverage score sampling. Single words tell the most and come first.
    """
    pool = _pool(words, count, generator)
    smaller = pool.sum(1).clamp(max=words - pool.sum(1))
    place = torch.empty(len(pool), dtype=torch.long)  # 0 for the first pair of its size, 1 for the second, ...
    for size in set(smaller.tolist()):
        same = torch.nonzero(smaller == size)[:, 0]
        place[same] = torch.arange(len(same))
    # In each turn, one pair of every size: those with the same place stand together, and smaller sizes first.
    turn = place * words + smaller
    return pool[torch.where(smaller == 1, -1, turn).argsort(stable=True)][:count]


def _pool(words: int, count: int, generator: torch.Generator) -> Tensor:
    """Pairs in random order, all that there are or more than are wanted, with every single word among them."""
    if number_of_pairs(words) <= 2 * count:
        everything = all_pairs(words)
        return everything[torch.randperm(len(everything), generator=generator)]
    sizes = torch.randint(1, words // 2 + 1, (2 * count,), generator=generator)
    single = torch.eye(words, dtype=torch.bool)[torch.randperm(words, generator=generator)]
    return _different(torch.cat([single, subsets(words, sizes, generator)]))


def subsets(words: int, sizes: Tensor, generator: torch.Generator) -> Tensor:
    """A random set of words of each size: [m] gives [m, n]."""
    # Ranks of random numbers are a random order of the words; the first `size` of them are the set.
    rank = torch.rand(len(sizes), words, generator=generator).argsort(1).argsort(1)
    return rank < sizes[:, None]


def _different(pool: Tensor) -> Tensor:
    """The pool without pairs that are in it twice, as one coalition or as the other."""
    canonical = torch.where(pool[:, :1], ~pool, pool)  # a pair is known by its half without the first word
    first: dict[bytes, int] = {}
    for index, row in enumerate(canonical.numpy()):
        first.setdefault(row.tobytes(), index)
    return pool[torch.tensor(list(first.values()))]


@dataclass(frozen=True)
class Weighted:
    """Pairs with their weights in KernelSHAP's regression: `whole` sizes first, then `drawn` ones of equal weight.

    The drawn pairs stand together for the `mass` of all sizes that are not there as a whole.
    """

    whole: Tensor
    weights: Tensor
    drawn: Tensor
    mass: float


def weighted_pairs(words: int, count: int, generator: torch.Generator) -> Weighted:
    """KernelSHAP's choice: sizes 1 and n-1 as a whole, then 2 and n-2, while they fit; the rest drawn by weight."""
    # A pair has two sizes, s and n - s; it is listed under the smaller. In the middle, at n/2, both are the same, so
    # that there are half as many pairs, with half the weight.
    sizes = range(1, words // 2 + 1)
    mass = {size: size_weight(words, size) / (1 if 2 * size < words else 2) for size in sizes}
    whole, weights, left = [torch.zeros(0, words, dtype=torch.bool)], [torch.zeros(0)], count
    while mass:
        size = min(mass)
        number = math.comb(words, size) // (1 if 2 * size < words else 2)
        # A size is taken as a whole if drawing by weight would ask about at least as many of its pairs.
        if number > left * mass[size] / sum(mass.values()) + 1e-9:
            break
        whole.append(_of_size(words, size))
        weights.append(torch.full((number,), mass.pop(size) / number))
        left -= number
    drawn = torch.zeros(0, words, dtype=torch.bool)
    if mass and left > 0:
        chances = torch.tensor(list(mass.values()), dtype=torch.float64)
        which = torch.multinomial(chances, left, replacement=True, generator=generator)
        drawn = subsets(words, torch.tensor(list(mass))[which], generator)
    return Weighted(torch.cat(whole), torch.cat(weights).double(), drawn, sum(mass.values()))


def drawn_pairs(words: int, count: int, generator: torch.Generator) -> Tensor:
    """Pairs [m, n] drawn by KernelSHAP's weights, each by itself, as an estimate without bias needs them."""
    chances = torch.tensor([size_weight(words, size) for size in range(1, words)], dtype=torch.float64)
    sizes = 1 + torch.multinomial(chances, count, replacement=True, generator=generator)
    return subsets(words, sizes, generator)


def size_weight(words: int, size: int) -> float:
    """The weight of all coalitions of a size together: (n - 1) / (s (n - s)), shared equally among them."""
    return (words - 1) / (size * (words - size))


def _of_size(words: int, size: int) -> Tensor:
    """One of every pair whose smaller half has that size."""
    chosen = torch.combinations(torch.arange(words), size)
    if 2 * size == words:  # both halves have that size; the one with the first word stands for the pair
        chosen = chosen[chosen[:, 0] == 0]
    return torch.zeros(len(chosen), words, dtype=torch.bool).scatter(1, chosen, True)
