"""A few examples to check a model with: of its own data where that is known, else made up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.core.errors import InputError, VeridicalError
from veridical.core.example import Example, Image
from veridical.data import Dataset, in_split, load
from veridical.models import Classifier
from veridical.models.image_classifier import ImageClassifier

FEW = 8
MOST = 32

_LOOKED_AT = 200
_SENTENCES = (
    "A gorgeous, witty and moving film.",
    "The delivery was late again, and nobody answered my letters.",
    "It rained.",
    "Don't buy this: the battery died after two days!",
    "The meeting has been moved to Thursday at ten in the small room upstairs.",
    "Scientists have found water on a planet that circles a distant star.",
    "I was not happy with the room, but the staff could not have been kinder to us.",
    "Prices rose by three percent last year, more than anyone had expected.",
)


def own_examples(classifier: Classifier) -> Dataset:
    """Short examples of the data a model was trained on, held out from its training; made-up ones where unknown."""
    for split in ("test", "dev"):
        if (held_out := _held_out(classifier, split)) is not None:
            return held_out
    if isinstance(classifier, ImageClassifier):
        return Dataset("random noise", tuple(_noise(classifier)))
    return Dataset("built-in sentences", tuple(Example.of(text, str(i)) for i, text in enumerate(_SENTENCES)))


def readable(classifier: Classifier, examples: Sequence[Example]) -> list[Example]:
    """The first examples that the model can read and that have something to explain, at most `MOST`."""
    found: list[Example] = []
    problem: InputError | None = None
    for example in examples:
        try:
            if classifier.encode([example]).units[0]:
                found.append(example)
        except InputError as error:
            problem = problem or error
        if len(found) == MOST:
            break
    if not found:
        raise problem or InputError(
            "there is nothing to explain in this data", remedy="Check the model with other data."
        )
    return found


def _held_out(classifier: Classifier, split: str) -> Dataset | None:
    if classifier.trained_on is None:
        return None
    try:
        data = load(in_split(classifier.trained_on, split))
    except VeridicalError:  # there is no such split, or the file has moved
        return None
    shown = data[:_LOOKED_AT]
    short = sorted(shown, key=_size)[: max(FEW, len(shown) // 4)]
    step = max(1, len(short) // FEW)
    chosen = short[::step][:FEW]
    return Dataset(data.name, tuple(chosen), data.labels) if chosen else None


def _size(example: Example) -> int:
    return sum(len(value) for value in example.inputs.values() if isinstance(value, str))


def _noise(classifier: ImageClassifier) -> list[Example]:
    config = classifier.model.config
    shape = (FEW, config.image_size, config.image_size, config.num_channels)
    pixels = np.random.RandomState(0).randint(0, 256, shape)
    return [Example.of(Image(each), str(index)) for index, each in enumerate(pixels)]
