"""A folder with a file per split, your own or one of the directory that `VERIDICAL_DATA` names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from veridical.core.errors import InputError, UsageError
from veridical.data.columns import Columns
from veridical.data.dataset import Dataset
from veridical.data.rows import to_dataset
from veridical.data.source import Source
from veridical.data.splits import SPLITS, canonical
from veridical.data.tables import format_of, read_table, stem_of


@dataclass(frozen=True)
class DataFolder(Source):
    """A folder with `train`, `dev` (or `validation`, `val`) and `test` files in any format a single file can have."""

    path: Path
    columns: Columns = field(default_factory=Columns)

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
