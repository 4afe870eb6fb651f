"""The values everything else speaks of: an `Example`, the `Unit`s it is made of, and an `Explanation`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, TypeGuard

import numpy as np

from veridical.core.errors import InputError

TEXT, PAIR, IMAGE = "text", "text_pair", "image"
"""The names of the inputs that Veridical knows: a text, the second text of a pair, an image."""


VALUE = "value"
"""The name of a regression model's only target."""

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
        if pixels.ndim not in (2, 3):
            raise InputError(f"an image has {pixels.ndim} dimensions", remedy="It is height x width (x channels).")
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


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number of any kind, also of NumPy; NaN and infinities are, true and false are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_label(label: Any) -> bool:
    if isinstance(label, tuple):
        return all(isinstance(name, str) for name in label)
    return label is None or isinstance(label, str) or (is_number(label) and math.isfinite(label))


def _misplaced(unit: Any, inputs: Mapping[str, str | Image]) -> str | None:
    """What is wrong with the place of a unit, or nothing."""
    if not isinstance(unit.field, str) or not isinstance(unit.text, str):
        return f"a unit has the field {short(unit.field)} and the text {short(unit.text)}, which must be texts"
    if unit.field not in inputs:
        return f"{short(unit.text)} is of the input {unit.field!r}, and there is none of this name"
    found = inputs[unit.field]
    size = (len(found),) if isinstance(found, str) else found.pixels.shape[:2]
    half, span = len(size), unit.span
    if len(span) == 2 * half and all(type(edge) is int for edge in span):
        edges = zip(span[:half], span[half:], size, strict=True)
        if all(0 <= start <= end <= most for start, end, most in edges):
            return None
    length = f"{size[0]} characters" if half == 1 else f"{size[0]} x {size[1]} pixels"
    return f"the span of {short(unit.text)} is {short(list(span))}, which is no part of {length}"


def short(value: object) -> str:
    """A value for an error message, at most a line of it."""
    try:
        told = repr(value)
    except (ValueError, RecursionError):  # whole numbers of thousands of digits, lists within lists within lists
        told = f"a {type(value).__name__}"
    return told if len(told) <= 60 else f"{told[:57]}..."


_SHOWN = 4
"""How many words of an explanation are printed: the strongest ones."""

_ROUNDING = 1e-6
"""What a probability may be off by rounding."""

FAMILIAR = "familiar"
"""The measure of a student's explanation: the share of dev texts that are at least as unlike its training texts."""

UNFAMILIAR = 0.01
"""A text is unlike what a student learned from when fewer dev texts than this share are as unlike it."""

HUMAN = "human"
"""The `source` of rationales and study answers: people explain, too."""


Gives = Literal["signed", "levels", "shares"]
"""What scores are: signed numbers, levels from -2 (highly negative) to 2, or shares of a whole, without a sign."""


def gives(spec: Mapping[str, Any]) -> Gives:
    """What the scores of an explanation are, by its spec; without a word of it they are signed numbers."""
    told = spec.get("scores")
    return told if told in ("levels", "shares") else "signed"


def gives_labels(model: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a model, as a spec describes it, gives any number of labels, and not one class or one number."""
    return isinstance(model, Mapping) and model.get("task") == "labels"


@dataclass(frozen=True, repr=False)
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
        if problem := next(self._misfits(), None):
            raise InputError(problem, example=str(self.example_id))
        for unit in self.units:
            if problem := _misplaced(unit, self.inputs):
                raise InputError(problem, example=self.example_id, field=str(unit.field))
        self._check("score", self.scores, least=-math.inf)
        if self.margins is not None:
            self._check("margin", self.margins, least=0.0)

    def _misfits(self) -> Iterator[str]:
        """What is of a wrong type: programs read these values from files that anybody may have changed."""
        for name in ("example_id", "target", "source"):
            if not isinstance(value := getattr(self, name), str):
                yield f"the {name} is {short(value)}, and not a text"
        for name in ("probabilities", "measures"):
            for key, value in getattr(self, name).items():
                if not isinstance(key, str) or not is_number(value):
                    yield f"of the {name}, {short(key)} is {short(value)}, and not a number by name"
        for key, value in self.probabilities.items():
            if not -_ROUNDING <= value <= 1 + _ROUNDING:  # NaN is neither
                yield f"the probability of {short(key)} is {short(value)}, and not between 0 and 1"
        inputs: Mapping[Any, Any] = self.inputs
        for key, value in inputs.items():
            if not isinstance(key, str) or not isinstance(value, str | Image):
                yield f"the input {short(key)} is {short(value)}, and neither a text nor an image"
        if not _is_label(self.label):
            yield f"the label is {short(self.label)}, and neither a text, a finite number nor a list of texts"

    def _check(self, name: str, numbers: tuple[float, ...], least: float) -> None:
        if len(numbers) != len(self.units):
            raise InputError(f"{len(numbers)} {name}s for {len(self.units)} units", example=self.example_id)
        for unit, number in zip(self.units, numbers, strict=True):
            if not is_number(number) or not math.isfinite(number) or number < least:
                told = f"the {name} of {unit.text!r} is {short(number)}"
                raise InputError(told, example=self.example_id, field=unit.field)

    def top(self, count: int) -> tuple[tuple[Unit, float], ...]:
        """The `count` units with the highest scores, best first; ties keep their order in the input."""
        ranked = sorted(zip(self.units, self.scores, strict=True), key=lambda pair: -pair[1])
        return tuple(ranked[:count])

    def __repr__(self) -> str:
        ranked = sorted(zip(self.units, self.scores, strict=True), key=lambda pair: -abs(pair[1]))
        words = ", ".join(f"{unit.text} {score:+.3g}" for unit, score in ranked[:_SHOWN])
        more = f" and {len(ranked) - _SHOWN} more" if len(ranked) > _SHOWN else ""
        sure = f" {self.probabilities[self.target]:.1%}" if self.target in self.probabilities else ""
        return f"Explanation({self.example_id}: {self.target}{sure} by {self.source}: {words}{more})"

    def _repr_html_(self) -> str:
        from veridical.report.drawing import fragment

        return fragment(self)
