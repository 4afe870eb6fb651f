"""What every salience is: a way to score the word pieces of a text before any model is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from veridical.core.component import Component, option
from veridical.core.errors import UnsupportedError
from veridical.core.stop_words import is_stop_word
from veridical.core.values import Example
from veridical.models import Batch, Classifier

WordPieces = npt.NDArray[np.int64]
"""The ids of a text's word pieces in their order, [n]: without special tokens, padding and held fields."""

Floats = npt.NDArray[np.float64]

Scorer = Callable[[WordPieces], Floats]
"""Gives each piece of a text its score, [n] to [n]."""

Words = Literal["all", "content"]
"""Which words have a salience: all, or all but stop words and punctuation."""

_AT_ONCE = 512


@dataclass(frozen=True)
class Salience(Component):
    """Settings of a salience; `fitted` makes the function that scores texts, which may have seen the training data.

    Whoever asks for scores leaves out the words that the option `words` excludes: the function never sees them.
    """

    words: Words = option(
        "all",
        "Which words have salience: `all`, or `content`: then English stop words and punctuation count as if they were "
        "not there, and have salience 0.",
    )

    def fitted(self, corpus: Corpus) -> Scorer:
        """The function that scores texts."""
        raise NotImplementedError


@dataclass(frozen=True)
class Corpus:
    """The training data as word pieces, read when it is first asked for."""

    classifier: Classifier
    examples: Sequence[Example]
    words: Words = "all"

    @cached_property
    def texts(self) -> list[WordPieces]:
        """The pieces of each row that the model reads: a text, or a window of a long one."""
        return [pieces for pieces, _ in self._rows]

    @cached_property
    def labels(self) -> npt.NDArray[np.int64]:
        """The class of each of the texts."""
        if self.classifier.is_regression:
            raise UnsupportedError("a regression model has no classes to compare", remedy="Choose another salience.")
        if self.classifier.is_multi_label:
            raise UnsupportedError("chi2 compares classes, and a text of this model may have several labels")
        gold = self.classifier.gold(self.examples).numpy()
        found: npt.NDArray[np.int64] = gold[[owner for _, owner in self._rows]]
        return found

    @cached_property
    def _rows(self) -> list[tuple[WordPieces, int]]:
        found: list[tuple[WordPieces, int]] = []
        for start in range(0, len(self.examples), _AT_ONCE):
            batch = self.classifier.encode(list(self.examples[start : start + _AT_ONCE]))
            pieces = pieces_of(batch, places_of(batch, self.words))
            found += zip(pieces, (batch.rows.owner + start).tolist(), strict=True)
        return found


def places_of(batch: Batch, words: Words) -> Tensor:
    """Where in each row the pieces of words stand, or of content words: [R, L] booleans."""
    unit_of = batch.rows.unit_of
    if words == "all" or not batch.live.any():
        return unit_of >= 0
    content = torch.zeros(batch.live.shape, dtype=torch.bool)  # [B, U]
    for row, units in zip(content, batch.units, strict=True):
        row[: len(units)] = torch.tensor([not is_stop_word(unit) for unit in units], dtype=torch.bool)
    return content[batch.rows.owner].gather(1, unit_of.clamp(min=0)) & (unit_of >= 0)


def pieces_of(batch: Batch, places: Tensor) -> list[WordPieces]:
    """The word pieces of each row at some places [R, L]."""
    if "input_ids" not in batch.rows.inputs:
        raise UnsupportedError("salience is that of word pieces, which images do not have")
    ids = batch.rows.inputs["input_ids"].cpu().numpy()
    return [row[which] for row, which in zip(ids, places.numpy(), strict=True)]


def remembering(score: Scorer) -> Scorer:
    """The same scores, computed once for each text; a text is known by its pieces."""
    known: dict[bytes, Floats] = {}

    def recall(pieces: WordPieces) -> Floats:
        key = pieces.tobytes()
        if key not in known:
            known[key] = score(pieces)
        return known[key]

    return recall


def counted(pieces: WordPieces) -> tuple[WordPieces, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The distinct pieces of a text, which of them stands at each position, and how often each occurs."""
    found: tuple[Any, Any, Any] = np.unique(pieces, return_inverse=True, return_counts=True)
    return found
