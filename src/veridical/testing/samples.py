"""Small real classifiers with examples they can read, to try things on in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.core.values import Example, Image
from veridical.models import Classifier
from veridical.models.black_box import BlackBox
from veridical.models.new import start

Sample = tuple[Classifier, list[Example]]

_TEXTS = (
    "A gorgeous, witty, seductive movie.",
    "dull",
    "Don't miss it: the best, best film of the year...",
    "It is neither funny nor moving, and it is far too long for what little it has to say about love and money",
)


def text_classifier(**settings: Any) -> Sample:
    """A two-layer BERT with random weights and four texts: short, one word, repeated words, long."""
    examples = [
        Example(str(index), {"text": text}, ("negative", "positive")[index % 2]) for index, text in enumerate(_TEXTS)
    ]
    return _as_if_trained_on(
        "planted(train=6)", start("tiny", examples, ["negative", "positive"], **settings)
    ), examples


def pair_classifier(**settings: Any) -> Sample:
    """The same for pairs of texts and three classes."""
    labels = ("entails", "contradicts", "neutral")
    examples = [
        Example(str(index), {"text": text, "text_pair": _TEXTS[index - 1]}, labels[index % 3])
        for index, text in enumerate(_TEXTS)
    ]
    return _as_if_trained_on("planted-pairs(train=6)", start("tiny", examples, labels, **settings)), examples


def multi_label_classifier(**settings: Any) -> Sample:
    """The same for texts that may have any number of three labels: one, two, none or all."""
    labels = ("anger", "fear", "joy")
    held = (("joy",), ("anger", "fear"), (), labels)
    examples = [Example(str(index), {"text": text}, held[index]) for index, text in enumerate(_TEXTS)]
    return _as_if_trained_on("planted(train=6)", start("tiny", examples, labels, **settings)), examples


def image_classifier() -> Sample:
    """A two-layer ViT with random weights and three small images of noise."""
    noise = np.random.RandomState(0).randint(0, 256, (3, 16, 16, 1))
    examples = [Example(str(index), {"image": Image(noise[index])}, "ab"[index % 2]) for index in range(3)]
    return _as_if_trained_on("planted-images(train=6)", start("tiny", examples, ["a", "b"])), examples


def black_box() -> Sample:
    """A function of texts: the share of the letter e."""
    _, examples = text_classifier()
    return BlackBox(_share_of_e, ["negative", "positive"]), examples


def _as_if_trained_on(data: str, classifier: Classifier) -> Classifier:
    """For methods that compare with training data; random weights have none."""
    classifier.trained_on = data
    return classifier


def _share_of_e(texts: Sequence[str]) -> np.ndarray:
    shares = np.array([text.count("e") / (1 + len(text)) for text in texts])
    return np.stack([1 - shares, shares], axis=1)
