"""Chance that stays the same: across runs, machines, Python and NumPy versions.

Only `random.Random.random` promises an unchanged stream, so everything here is built on it; `random.shuffle` and
NumPy's generators may change with a release, and a data set's name must not come to mean other examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A stream of choices for a key, such as `Chance("planted", seed, split)`: other keys, independent choices."""

    def __init__(self, *key: object) -> None:
        self._random = Random("/".join(map(str, key)))

    def happens(self, probability: float) -> bool:
        """True with that probability."""
        return self._random.random() < probability

    def below(self, count: int) -> int:
        """A whole number from 0 to `count - 1`."""
        return int(self._random.random() * count)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All the items in a random order; the input stays as it is."""
        keys = [self._random.random() for _ in items]
        return [items[at] for at in sorted(range(len(items)), key=keys.__getitem__)]
