"""Image sets kept as one `data.npz` with `train_images`, `train_labels`, ... and `classes`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from zipfile import BadZipFile

import numpy as np

from veridical.core.component import option, required
from veridical.core.errors import InputError
from veridical.core.example import IMAGE, Example, Image
from veridical.data.dataset import Dataset, Source
from veridical.data.splits import SPLITS
from veridical.data.tables import Columns

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
        if labels.dtype.kind not in "iu" or (len(labels) and not 0 <= labels.min() <= labels.max() < len(classes)):
            raise InputError(f"{self.path}: {split}_labels must be whole numbers from 0 to {len(classes) - 1}")
