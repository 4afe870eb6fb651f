"""A `Dataset`: examples with a name from which anybody can load the same ones again, and what a source has to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, overload

from veridical.core.component import Component
from veridical.core.example import Example
from veridical.data.splits import SPLITS, TRAIN


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
