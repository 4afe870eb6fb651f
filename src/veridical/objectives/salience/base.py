"""What every salience is: a way to score the word pieces of a text before any model is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.core.component import Component
from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.models import Classifier, Rows

WordPieces = npt.NDArray[np.int64]
"""The ids of a text's word pieces in their order, [n]: without special tokens, padding and held fields."""

Floats = npt.NDArray[np.float64]

Scorer = Callable[[WordPieces], Floats]
"""Gives each piece of a text its score, [n] to [n]."""

_AT_ONCE = 512


class Salience(Component):
    """Settings of a salience; `fitted` makes the function that scores texts, which may have seen the training data."""

    def fitted(self, corpus: Corpus) -> Scorer:
        """The function that scores texts."""
        raise NotImplementedError


@dataclass(frozen=True)
class Corpus:
    """The training data as word pieces, read when it is first asked for."""

    classifier: Classifier
    examples: Sequence[Example]

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
            rows = self.classifier.encode(list(self.examples[start : start + _AT_ONCE])).rows
            found += zip(pieces_of(rows), (rows.owner + start).tolist(), strict=True)
        return found


def pieces_of(rows: Rows) -> list[WordPieces]:
    """The word pieces of each row that belong to a unit."""
    if "input_ids" not in rows.inputs:
        raise UnsupportedError("salience is that of word pieces, which images do not have")
    ids, scored = rows.inputs["input_ids"].cpu().numpy(), (rows.unit_of >= 0).numpy()
    return [row[which] for row, which in zip(ids, scored, strict=True)]


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
