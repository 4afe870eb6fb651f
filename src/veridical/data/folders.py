"""Your own data: a single file, or a folder with a file for each split."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from veridical.core.component import option, required
from veridical.core.errors import InputError, UsageError
from veridical.data.dataset import Dataset, Source
from veridical.data.rows import to_dataset
from veridical.data.splits import ALL, SPLITS, canonical, draw_splits
from veridical.data.tables import Columns, Table, format_of, read_table, stem_of


@dataclass(frozen=True)
class DataFile(Source):
    """A single file of your own, whole by default.

    With a `split` column its values are the splits; without one, asking for train, dev or test draws 80%, 10% and 10%
    of the rows. Classes are those of the whole file in every split.
    """

    path: Path = required("The file.")
    columns: Columns = option(Columns(), "Which column holds what.")

    default_split: ClassVar[str] = ALL

    def splits(self) -> tuple[str, ...]:
        if self.columns.split is None:
            return (ALL, *SPLITS)
        return (ALL, *self._named)

    def load(self, split: str) -> Dataset:
        whole = to_dataset(self._table, self.columns)
        if split == ALL:
            return whole
        dealt = self._named if self.columns.split else self._drawn(whole)
        return Dataset(f"{whole.name}:{split}", tuple(whole[at] for at in dealt[split]), whole.labels)

    def _drawn(self, whole: Dataset) -> dict[str, list[int]]:
        return draw_splits([example.label for example in whole], self.columns.seed, str(self.path))

    @cached_property
    def _table(self) -> Table:
        return read_table(self.path, self.columns.quotes)

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        """The rows of each split that the split column names."""
        column = self.columns.within(self._table).split
        dealt: dict[str, list[int]] = {}
        for at, row in enumerate(self._table.rows):
            if name := row.values.get(column or ""):
                dealt.setdefault(canonical(str(name)), []).append(at)
        return dealt


@dataclass(frozen=True)
class DataFolder(Source):
    """A folder with `train`, `dev` (or `validation`, `val`) and `test` files in any format a single file can have."""

    path: Path = required("The folder.")
    columns: Columns = option(Columns(), "Which column holds what, in every file.")

    def splits(self) -> tuple[str, ...]:
        return tuple(split_files(self.path))

    def load(self, split: str) -> Dataset:
        if self.columns.split:
            raise UsageError(f"the files of {self.path} are its splits", remedy="Leave out the option 'split'.")
        file = split_files(self.path)[split]
        return to_dataset(read_table(file, self.columns.quotes), self.columns)


def split_files(folder: Path) -> dict[str, Path]:
    """The file of each split in a folder, in the order train, dev, test; other files are left alone."""
    found: dict[str, Path] = {}
    for file in sorted(folder.iterdir()):
        split = canonical(stem_of(file))
        if split not in SPLITS or format_of(file) is None:
            continue
        if split in found:
            problem = f"{folder} has two files for {split}: {found[split].name} and {file.name}"
            raise InputError(problem, remedy="Keep one.")
        found[split] = file
    return {split: found[split] for split in SPLITS if split in found}
