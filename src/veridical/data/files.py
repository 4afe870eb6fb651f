"""Your own file: CSV, TSV, JSONL or Parquet."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from veridical.data.columns import Columns
from veridical.data.dataset import Dataset
from veridical.data.rows import to_dataset
from veridical.data.source import Source
from veridical.data.splits import ALL, SPLITS, canonical, draw_splits
from veridical.data.tables import Table, read_table


@dataclass(frozen=True)
class DataFile(Source):
    """A single file of your own, whole by default.

    With a `split` column its values are the splits; without one, asking for train, dev or test draws 80%, 10% and 10%
    of the rows with `seed`. Classes are those of the whole file, whatever the split.
    """

    path: Path
    columns: Columns = field(default_factory=Columns)

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
