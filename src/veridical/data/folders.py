"""Your own file or folder: a table, a file per split, or an archive of images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from zipfile import BadZipFile

import numpy as np

from veridical.core.component import option, required
from veridical.core.errors import InputError, UsageError
from veridical.core.values import IMAGE, Example, Image
from veridical.data.columns import Columns
from veridical.data.dataset import ALL, SPLITS, Dataset, Source, canonical, draw_splits
from veridical.data.rows import rows_by_id, to_dataset
from veridical.data.tables import Table, format_of, read_table, stem_of


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
        return read_table(self.path, self.columns.cells)

    @cached_property
    def _named(self) -> dict[str, list[int]]:
        """The rows of each split that the split column names."""
        columns = self.columns.within(self._table)
        dealt: dict[str, list[int]] = {}
        for at, row in enumerate(rows_by_id(self._table, columns).values()):
            if name := row.values.get(columns.split or ""):
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
        return to_dataset(read_table(file, self.columns.cells), self.columns)


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


ARCHIVE = "data.npz"


@dataclass(frozen=True)
class ImageFolder(Source):
    """A NumPy archive of images; the labels are numbers of `classes`."""

    path: Path = required("The archive.")
    columns: Columns = option(Columns(), "Nothing can be chosen here: the layout is fixed.")

    task: ClassVar[str] = "image classification"

    def splits(self) -> tuple[str, ...]:
        with self._open() as archive:
            return tuple(split for split in SPLITS if f"{split}_images" in archive.files)

    def load(self, split: str) -> Dataset:
        self.columns.refuse(str(self.path))
        images, labels, classes = (self._array(name) for name in (f"{split}_images", f"{split}_labels", "classes"))
        self._check(split, images, labels, classes)
        names = [str(classes[label]) for label in labels]
        examples = (
            Example(f"{split}-{at}", {IMAGE: Image(image)}, name)
            for at, (image, name) in enumerate(zip(images, names, strict=True))
        )
        return Dataset(f"{self.path}:{split}", tuple(examples), tuple(sorted(map(str, classes))))

    def _open(self) -> np.lib.npyio.NpzFile:
        try:
            # Pickled objects inside an archive could run code.
            archive = np.load(self.path, allow_pickle=False)
        except (OSError, ValueError, BadZipFile) as error:
            raise InputError(f"{self.path} is not a readable NumPy archive: {error}") from error
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"{self.path} holds a single array, not an archive", remedy="Write it with numpy.savez.")
        return archive

    def _array(self, name: str) -> np.ndarray:
        with self._open() as archive:
            if name not in archive.files:
                raise InputError(f"{self.path} has no array {name!r}", remedy=f"There are: {', '.join(archive.files)}.")
            try:
                return np.asarray(archive[name])
            except (OSError, ValueError, BadZipFile) as error:
                raise InputError(f"cannot read {name!r} of {self.path}: {error}") from error

    def _check(self, split: str, images: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> None:
        if images.dtype != np.uint8 or images.ndim not in (3, 4):
            problem = f"{self.path}: {split}_images is {images.dtype} of shape {images.shape}"
            raise InputError(problem, remedy="Images are uint8, 0 to 255, [count, height, width(, channels)].")
        if len(images) != len(labels):
            raise InputError(f"{self.path}: {len(labels)} labels for {len(images)} images in {split}")
        if twice := [str(name) for name in classes if list(classes).count(name) > 1]:
            raise InputError(f"{self.path}: two classes are called {twice[0]!r}", remedy="Give each its own name.")
        if labels.dtype.kind not in "iu" or (len(labels) and not 0 <= labels.min() <= labels.max() < len(classes)):
            raise InputError(f"{self.path}: {split}_labels must be whole numbers from 0 to {len(classes) - 1}")
