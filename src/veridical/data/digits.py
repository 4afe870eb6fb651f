"""Handwritten digits from scikit-learn: the smallest real images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from veridical.core.errors import UsageError
from veridical.core.values import IMAGE, Example, Image
from veridical.data.dataset import Dataset, Source, draw_splits

LABELS = tuple("0123456789")
SEED = 0


@dataclass(frozen=True)
class Digits(Source):
    """Handwritten digits: 1,797 grey images of 8 x 8 pixels, ten classes.

    The splits are drawn by us with seed 0: 80% train, 10% dev, 10% test.
    """

    task: ClassVar[str] = "image classification"
    where: ClassVar[str] = "package scikit-learn"

    def load(self, split: str) -> Dataset:
        examples = _examples()
        chosen = draw_splits([example.label for example in examples], SEED, "digits")[split]
        return Dataset(f"digits:{split}", tuple(examples[at] for at in chosen), LABELS)


@lru_cache(maxsize=1)
def _examples() -> tuple[Example, ...]:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        remedy = 'Run: pip install "veridical[embedded]"'
        raise UsageError("the package scikit-learn is not installed", remedy=remedy) from None
    bunch = load_digits()
    images = np.rint(bunch.images * (255 / 16)).astype(np.uint8)  # the pixels are 0 to 16  [N, 8, 8]
    return tuple(
        Example(f"digits-{number}", {IMAGE: Image(image)}, str(label))
        for number, (image, label) in enumerate(zip(images, bunch.target, strict=True), 1)
    )
