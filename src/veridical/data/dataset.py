"""A `Dataset`, the splits it may have, and what a source of data has to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, TypeVar, overload

from veridical.core.component import Component
from veridical.core.errors import InputError, UsageError
from veridical.core.values import Example

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


@dataclass(frozen=True)
class Dataset(Sequence[Example]):
    """Examples in a fixed order, the labels they can have, and the name that loads them again.

    `labels` are the sorted names of classes or labels: of the whole source where it knows them, else of the split,
    never of the subset alone, so `[:1]` still knows them all. They are `()` for regression and for unlabelled data.
    """

    name: str
    examples: tuple[Example, ...]
    labels: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Example: ...

    @overload
    def __getitem__(self, index: slice) -> Dataset: ...

    def __getitem__(self, index: int | slice) -> Example | Dataset:
        if isinstance(index, slice):
            return Dataset(f"{self.name}[{_written(index)}]", self.examples[index], self.labels)
        return self.examples[index]

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def is_regression(self) -> bool:
        """Whether the labels are numbers. Unlabelled and empty data are not regression."""
        return bool(self.examples) and all(isinstance(example.label, float) for example in self.examples)

    @property
    def is_multi_label(self) -> bool:
        """Whether an example can have several labels, or none: each label is then a tuple."""
        return bool(self.examples) and all(isinstance(example.label, tuple) for example in self.examples)

    def __repr__(self) -> str:
        # The generated one would print every text.
        return f"Dataset({self.name!r}, {len(self)} examples, labels={self.labels})"


def _written(index: slice) -> str:
    start, stop = ("" if value is None else str(value) for value in (index.start, index.stop))
    return f"{start}:{stop}" if index.step is None else f"{start}:{stop}:{index.step}"


class Source(Component, ABC):
    """Where examples come from: a frozen dataclass whose fields are its options.

    The first line of the docstring is its description in listings. Constructors only remember; files are read and
    packages are looked for when a split is loaded.

        @dataclass(frozen=True)
        class Jokes(Source):
            \"\"\"Jokes, funny or not.\"\"\"

            def load(self, split: str) -> Dataset:
                return Dataset(f"jokes:{split}", ..., labels=("funny", "not funny"))
    """

    default_split: ClassVar[str] = TRAIN
    task: ClassVar[str] = "text classification"
    where: ClassVar[str] = "built in"

    def splits(self) -> tuple[str, ...]:
        """The splits that can be loaded."""
        return SPLITS

    @abstractmethod
    def load(self, split: str) -> Dataset:
        """All the examples of one of the `splits()`."""
