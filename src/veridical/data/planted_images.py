"""Made images whose true reason is known: one bright pattern in the noise."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veridical.core.example import IMAGE, Example, Image, Unit
from veridical.data.dataset import Dataset, Source
from veridical.data.planted import names_of, require
from veridical.data.splits import Chance

DARKEST_BRIGHT, BRIGHTEST_NOISE = 200, 100


@dataclass(frozen=True)
class PlantedImages(Source):
    """Made images: noise with a bright pattern of the class in one cell, which is the evidence.

    The cells are aligned with patches of `patch` pixels, as a vision transformer cuts them. Each pattern lights half
    of its cell, so neither brightness nor place tells the class, only the pattern does.
    """

    size: int = 16
    patch: int = 4
    classes: int = 2
    channels: int = 1
    train: int = 1000
    dev: int = 200
    test: int = 200
    seed: int = 0

    task: ClassVar[str] = "image classification"

    def load(self, split: str) -> Dataset:
        self._check()
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

    def _check(self) -> None:
        require(self.patch >= 2, f"patch={self.patch} is too small for a pattern", "Use at least 2.")
        whole = self.size >= self.patch and self.size % self.patch == 0
        require(whole, f"size={self.size} is no multiple of patch={self.patch}", "Choose another of the two.")
        most = min(1000, math.comb(self.patch**2, self.patch**2 // 2))
        require(2 <= self.classes <= most, f"classes={self.classes} is not possible", f"Use 2 to {most}.")
        require(self.channels in (1, 3), f"channels={self.channels} is not possible", "Use 1 or 3.")


def patterns(count: int, patch: int) -> list[np.ndarray]:
    """The pattern of each class: which half of a cell's pixels are bright. The same for every seed."""
    chance = Chance("patterns", patch)
    found: dict[bytes, np.ndarray] = {}
    while len(found) < count:
        bright = chance.shuffled(range(patch**2))[: patch**2 // 2]
        shape = np.isin(np.arange(patch**2), bright).reshape(patch, patch)
        found.setdefault(shape.tobytes(), shape)
    return list(found.values())
