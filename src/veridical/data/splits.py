"""The names of splits, how splits are drawn where a source has none, and chance that stays the same.

Only `random.Random.random` promises an unchanged stream, so `Chance` is built on it alone; `random.shuffle` and NumPy's
generators may change with a release, and the name of a data set must not come to mean other examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

from veridical.core.errors import InputError, UsageError

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


TRAIN, DEV, TEST = SPLITS = ("train", "dev", "test")
ALL = "all"
"""The whole of a single file, which is what its bare path means."""

_ALIASES = {"validation": DEV, "valid": DEV, "val": DEV}


def canonical(split: str) -> str:
    """Our word for a split: `validation`, `valid` and `val` are `dev`."""
    return _ALIASES.get(split, split)


def find_split(wanted: str, there: Iterable[str], source: str) -> str:
    """The split of a source that was asked for, in the source's own spelling."""
    there = tuple(there)
    if wanted in there:
        return wanted
    for split in there:
        if canonical(split) == canonical(wanted):
            return split
    raise UsageError(f"{source} has no split {wanted!r}", remedy=f"There are: {', '.join(there) or 'none'}.")


def draw_splits(labels: Sequence[object], seed: int, source: str) -> dict[str, list[int]]:
    """Deal rows with these labels into train, dev and test: 80%, 10% and 10%, at least one row each.

    The rows are shuffled and then dealt class by class, so the splits are as balanced as the whole. Rows with several
    labels are dealt by their whole list. Each split keeps the shuffled order, so any `[:n]` of it is mixed even where
    the source is sorted by class.
    """
    if len(labels) < len(SPLITS):
        problem = f"{source} has {len(labels)} rows, too few to draw train, dev and test"
        raise InputError(problem, remedy="Use the whole file.")
    order = Chance("splits", seed).shuffled(range(len(labels)))
    # Sorted by class, stably: dealing every tenth row then takes a tenth of each class.
    by_class = sorted(order, key=lambda at: str(labels[at]))
    split_of = {at: {0: DEV, 1: TEST}.get(turn % 10, TRAIN) for turn, at in enumerate(by_class)}
    return {split: [at for at in order if split_of[at] == split] for split in SPLITS}
