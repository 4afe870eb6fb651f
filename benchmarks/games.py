"""Games on the words of a text: the value of keeping some of them, and what each word is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import torch
from workload import CACHE

from veridical.core.values import Example
from veridical.masking import Case
from veridical.masking.case import Scale
from veridical.models import Classifier

Ask = Callable[[np.ndarray], np.ndarray]


@dataclass
class Game:
    """`ask(keep [N, M])` gives the predicted class's output with only these words; `values` [M] are the truth, and
    `guess` [M] is what a student says of the text without asking.

    Answers come from a table, so a question costs next to nothing and every method gets the same one.
    """

    words: int
    ask: Ask
    values: np.ndarray
    scale: Scale = "logit"
    about: dict[str, Any] = field(default_factory=dict)
    asked: int = 0
    guess: np.ndarray | None = None

    def __call__(self, keep: np.ndarray) -> np.ndarray:
        """The values of subsets, counted."""
        keep = np.atleast_2d(np.asarray(keep)) > 0.5
        self.asked += len(keep)
        return self.ask(keep)


def exact_game(classifier: Classifier, example: Example, scale: Scale) -> Game:
    """A short text: all subsets are asked once, and the logits kept in a file."""
    case = Case.bind(classifier, [example])
    words = len(case.batch.units[0])
    path = _file(classifier, example, "table")
    if not path.exists():
        print(f"  asking about all {2**words} subsets of {words} words ...", flush=True)
        every = (np.arange(2**words)[:, None] >> np.arange(words)) & 1 > 0  # [2^M, M]
        _save(path, _logits(case, every))
    return table_game(_scaled(case, np.load(path), scale), scale)


def table_game(table: np.ndarray, scale: Scale = "logit") -> Game:
    """The game whose values of all subsets are known, [2^M]; bit i of an index says whether word i is there."""
    words = len(table).bit_length() - 1

    def ask(keep: np.ndarray) -> np.ndarray:
        return table[keep @ (1 << np.arange(words))]

    return Game(words, ask, shapley(table, words), scale, {"words": words, "questions": len(table)})


def sampled_game(classifier: Classifier, example: Example, questions: int) -> Game:
    """A longer text, with a reference of so many questions; what methods ask beyond them is asked of the model."""
    case = Case.bind(classifier, [example])
    words = len(case.batch.units[0])
    keep, weights = coalitions(words, questions)
    path = _file(classifier, example, f"sample-{questions}")
    if not path.exists():
        print(f"  asking {len(keep)} questions for the reference of {words} words ...", flush=True)
        _save(path, _logits(case, keep))
    found = _scaled(case, np.load(path), "logit")
    known = dict(zip(map(bytes, np.packbits(keep, axis=1)), found, strict=True))

    def ask(keep: np.ndarray) -> np.ndarray:
        keys = [bytes(each) for each in np.packbits(keep, axis=1)]
        new = {key: at for at, key in enumerate(keys) if key not in known}
        if new:
            at = list(new.values())
            known.update(zip(new, _scaled(case, _logits(case, keep[at]), "logit"), strict=True))
        return np.array([known[key] for key in keys])

    ends = ask(np.stack([np.zeros(words, bool), np.ones(words, bool)]))
    halves = [np.arange(len(keep)) // 2 % 2 == half for half in (0, 1)]  # pairs stay together
    values, *apart = (
        regress(keep[part], found[part], weights[part], *ends) for part in (np.full(len(keep), True), *halves)
    )
    noise = float(np.abs(apart[0] - apart[1]).mean() / 2 / np.abs(values).mean())
    about = {"words": words, "questions": len(keep), "reference error": round(noise, 5)}
    return Game(words, ask, values, about=about)


def shapley(table: np.ndarray, words: int) -> np.ndarray:
    """Shapley values [M] from the values of all subsets [2^M]; bit i of an index says whether word i is there."""
    index = np.arange(len(table))
    size = sum((index >> bit) & 1 for bit in range(words))
    weight = np.array([1 / (words * comb(words - 1, each)) if each < words else 0 for each in range(words + 1)])
    without = [index[(index >> bit) & 1 == 0] for bit in range(words)]
    return np.array([(weight[size[at]] * (table[at | 1 << bit] - table[at])).sum() for bit, at in enumerate(without)])


def coalitions(words: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Subsets [N, M] with their regression weights [N]: small and large ones all, the rest drawn, each with the
    complement beside it.
    """
    chance, left, keep, weights = np.random.default_rng(0), count, [], []
    for size in range(1, words // 2 + 1):
        mass = (
            (words - 1) / (size * (words - size)) * (1 if 2 * size < words else 0.5)
        )  # of this size, and its mirror's
        if (number := comb(words, size)) <= left / 8:
            drawn = _of_size(words, size)
        else:
            number = max(2, round(left / 2 * mass / _mass_from(words, size)))
            drawn = np.argsort(chance.random((number, words)), axis=1) < size
        pairs = np.stack([drawn, ~drawn], axis=1).reshape(-1, words)
        left -= len(pairs)
        keep.append(pairs)
        weights.append(np.full(len(pairs), mass / number))
    return np.concatenate(keep), np.concatenate(weights)


def regress(keep: np.ndarray, found: np.ndarray, weights: np.ndarray, empty: float, full: float) -> np.ndarray:
    """Weighted least squares for the values that add up to the difference between the whole text and none of it."""
    inputs = keep[:, :-1].astype(float) - keep[:, -1:]
    wanted = found - empty - keep[:, -1] * (full - empty)
    root = np.sqrt(weights)
    values = np.linalg.lstsq(inputs * root[:, None], wanted * root, rcond=None)[0]
    return np.append(values, full - empty - values.sum())


def _of_size(words: int, size: int) -> np.ndarray:
    from itertools import combinations

    chosen = np.array(list(combinations(range(words), size)))
    keep = np.zeros((len(chosen), words), bool)
    np.put_along_axis(keep, chosen, True, axis=1)
    return keep


@lru_cache(maxsize=64)
def _mass_from(words: int, size: int) -> float:
    sizes = range(size, words // 2 + 1)
    return sum((words - 1) / (each * (words - each)) * (1 if 2 * each < words else 0.5) for each in sizes)


def _logits(case: Case, keep: np.ndarray) -> np.ndarray:
    """What the model itself says of its only text with some words kept, [N, C]."""
    return case.logits(torch.zeros(len(keep), dtype=torch.long), torch.from_numpy(keep)).numpy()


def _scaled(case: Case, logits: np.ndarray, scale: Scale) -> np.ndarray:
    """The predicted class's output, [N]."""
    return case.scaled(torch.from_numpy(logits).double(), case.targets.expand(len(logits)), scale).numpy()


def _file(classifier: Classifier, example: Example, kind: str) -> Path:
    text = hashlib.sha256(str(example.inputs["text"]).encode()).hexdigest()[:12]
    return CACHE / "games" / f"{classifier.describe()['fingerprint']}-{text}-{kind}.npy"


def _save(path: Path, values: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, values)
