"""Made images whose true reason is known: one bright pattern in the noise."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from veridical.core.component import Seed, Within, option
from veridical.core.errors import UsageError
from veridical.core.values import IMAGE, Example, Image, Unit
from veridical.data.dataset import Chance, Dataset, Source
from veridical.data.planted import Size, names_of

DARKEST_BRIGHT, BRIGHTEST_NOISE = 200, 100

MOST_CLASSES = 1000
MOST_PATTERN_PIXELS = 2**22
MOST_BYTES = 2**30
"""How large a split may be: all of its images are held in memory."""


@dataclass(frozen=True)
class PlantedImages(Source):
    """Made images: noise with a bright pattern of the class in one cell, which is the evidence.

    Each pattern lights half of its cell, so neither brightness nor place tells the class, only the pattern does.
    """

    size: Annotated[int, Within(2, 1024)] = option(16, "How many pixels an image is wide and high.")
    patch: Annotated[int, Within(2, 256)] = option(
        4, "How many pixels a cell is wide and high; give it the patch size of the vision transformer."
    )
    classes: Annotated[int, Within(2, MOST_CLASSES)] = option(2, "How many classes, and so patterns, there are.")
    channels: Literal[1, 3] = option(1, "Grey images have 1 channel, coloured ones 3.")
    train: Size = option(1000, "How many images are in train.")
    dev: Size = option(200, "How many images are in dev.")
    test: Size = option(200, "How many images are in test.")
    seed: Seed = option(0, "Another seed gives other images with the same patterns.")

    task: ClassVar[str] = "image classification"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size % self.patch:
            problem = f"size={self.size} is no multiple of patch={self.patch}"
            raise UsageError(problem, remedy="Choose another of the two.")
        most = math.comb(self.patch**2, self.patch**2 // 2)
        if self.classes > most:
            problem = f"there are only {most} patterns of {self.patch} x {self.patch} pixels for {self.classes} classes"
            raise UsageError(problem, remedy="Use fewer classes or a larger patch.")
        if self.classes * self.patch**2 > MOST_PATTERN_PIXELS:
            problem = f"{self.classes} patterns of {self.patch} x {self.patch} pixels would take too long to draw"
            remedy = f"Use fewer classes or a smaller patch: all patterns have at most {MOST_PATTERN_PIXELS:,} pixels."
            raise UsageError(problem, remedy=remedy)
        largest = max(self.train, self.dev, self.test) * self.size**2 * self.channels
        if largest > MOST_BYTES:
            problem = f"the largest split would take {largest / 2**30:.1f} GiB of memory"
            raise UsageError(problem, remedy="Use fewer or smaller images: a split has at most 1 GiB.")

    def load(self, split: str) -> Dataset:
        shapes = patterns(self.classes, self.patch)
        # RandomState, as its stream is frozen: NumPy's newer generators may change theirs.
        random = np.random.RandomState(zlib.crc32(f"planted-images/{self.seed}/{split}".encode()))
        examples = tuple(self._example(random, shapes, split, at) for at in range(getattr(self, split)))
        return Dataset(f"planted-images:{split}", examples, tuple(sorted(names_of(self.classes))))

    def _example(self, random: np.random.RandomState, shapes: list[np.ndarray], split: str, at: int) -> Example:
        label = at % self.classes
        pixels = random.randint(0, BRIGHTEST_NOISE, (self.size, self.size, self.channels))  # [H, W, C]
        top, left = (int(cell) * self.patch for cell in random.randint(0, self.size // self.patch, 2))
        cell = pixels[top : top + self.patch, left : left + self.patch]
        cell[shapes[label]] = random.randint(DARKEST_BRIGHT, 256, cell[shapes[label]].shape)
        unit = Unit(IMAGE, (top, left, top + self.patch, left + self.patch), "patch")
        return Example(f"planted-images-{split}-{at}", {IMAGE: Image(pixels)}, names_of(self.classes)[label], (unit,))


def patterns(count: int, patch: int) -> list[np.ndarray]:
    """The pattern of each class: which half of a cell's pixels are bright. The same for every seed."""
    chance = Chance("patterns", patch)
    found: dict[bytes, np.ndarray] = {}
    while len(found) < count:
        bright = chance.shuffled(range(patch**2))[: patch**2 // 2]
        shape = np.isin(np.arange(patch**2), bright).reshape(patch, patch)
        found.setdefault(shape.tobytes(), shape)
    return list(found.values())
