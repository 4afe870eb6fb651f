"""The values everything else speaks of: an `Example`, the `Unit`s it is made of, and an `Explanation`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np

from veridical.core.errors import InputError

TEXT, PAIR, IMAGE = "text", "text_pair", "image"
"""The names of the inputs that Veridical knows: a text, the second text of a pair, an image."""


Label = str | float | tuple[str, ...]
"""What the data says is right: a class, a number, or all labels of an example that may have several, or none."""


@dataclass(frozen=True)
class Unit:
    """The smallest piece of an input that gets a score: a word, a word piece, an image patch.

    `span` is `(start, end)` in characters of the field's text, or `(top, left, bottom, right)` in pixels of the image.
    """

    field: str
    span: tuple[int, ...]
    text: str

    def overlaps(self, other: Unit) -> bool:
        """Whether the two share at least one character or pixel of the same field."""
        if self.field != other.field:
            return False
        half = len(self.span) // 2
        return all(
            max(self.span[axis], other.span[axis]) < min(self.span[axis + half], other.span[axis + half])
            for axis in range(half)
        )


TOLERANCE = 1e-9
"""What a product of floating-point numbers may be off: without it, 0.1 of 30 words would be rounded up to 4."""


def share(ratio: float, units: int) -> int:
    """How many units a share of an input with so many is: rounded up, and at least 1."""
    return max(1, math.ceil(ratio * units - TOLERANCE))


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels, height x width x channels, 0 to 255. Compared by content."""

    pixels: np.ndarray

    def __post_init__(self) -> None:
        pixels = np.asarray(self.pixels, dtype=np.uint8)
        object.__setattr__(self, "pixels", pixels[..., None] if pixels.ndim == 2 else pixels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and np.array_equal(self.pixels, other.pixels)

    def __hash__(self) -> int:
        return hash((self.pixels.shape, self.pixels.tobytes()))


@dataclass(frozen=True)
class Example:
    """One thing to classify, with its gold label and human evidence where they are known.

    `extra` carries whatever else the source said about it (a star rating, a shortcut word); nothing here reads it.
    """

    id: str
    inputs: Mapping[str, str | Image]
    label: Label | None = None
    evidence: tuple[Unit, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: str | tuple[str, str] | Image | Example, id: str = "0") -> Example:
        """Make an example of a bare text, a pair of texts or an image; an example stays as it is."""
        if isinstance(value, Example):
            return value
        if isinstance(value, str):
            return cls(id, {TEXT: value})
        if isinstance(value, tuple):
            return cls(id, dict(zip((TEXT, PAIR), value, strict=True)))
        return cls(id, {IMAGE: value if isinstance(value, Image) else Image(value)})


def content_hash(inputs: Mapping[str, str | Image]) -> str:
    """A short name for what an example says."""
    digest = hashlib.blake2b(digest_size=8)
    for name, value in sorted(inputs.items()):
        digest.update(name.encode() + b"|")
        digest.update(value.pixels.tobytes() if isinstance(value, Image) else value.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


HUMAN = "human"
"""The `source` of rationales and study answers: people explain, too."""


def gives_labels(model: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a model, as a spec describes it, gives any number of labels, and not one class or one number."""
    return isinstance(model, Mapping) and model.get("task") == "labels"


@dataclass(frozen=True)
class Explanation:
    """Why a classifier chose `target` for one example: a score for each unit, positive when it speaks for the target.

    `probabilities` is empty for regression. `source` names the method (or `human`), `spec` is how exactly the scores
    were made, `measures` holds numbers about the making: `queries` asked of the model, `truncated_units` it never saw.
    `margins`, where the scores were estimated from samples, are half the widths of 95% intervals around them.
    """

    example_id: str
    inputs: Mapping[str, str | Image]
    target: str
    units: tuple[Unit, ...]
    scores: tuple[float, ...]
    probabilities: Mapping[str, float]
    source: str
    spec: Mapping[str, Any]
    label: Label | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    margins: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        self._check("score", self.scores, least=-math.inf)
        if self.margins is not None:
            self._check("margin", self.margins, least=0.0)

    def _check(self, name: str, numbers: tuple[float, ...], least: float) -> None:
        if len(numbers) != len(self.units):
            raise InputError(f"{len(numbers)} {name}s for {len(self.units)} units", example=self.example_id)
        for unit, number in zip(self.units, numbers, strict=True):
            if not math.isfinite(number) or number < least:
                raise InputError(f"the {name} of {unit.text!r} is {number}", example=self.example_id, field=unit.field)

    def top(self, count: int) -> tuple[tuple[Unit, float], ...]:
        """The `count` units with the highest scores, best first; ties keep their order in the input."""
        ranked = sorted(zip(self.units, self.scores, strict=True), key=lambda pair: -pair[1])
        return tuple(ranked[:count])

    def _repr_html_(self) -> str:
        from veridical.report.drawing import fragment

        return fragment(self)
