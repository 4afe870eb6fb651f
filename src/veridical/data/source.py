"""What a source of data has to do, for built-ins and plug-ins alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from veridical.data.dataset import Dataset
from veridical.data.splits import SPLITS, TRAIN


class Source(ABC):
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
