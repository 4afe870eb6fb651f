"""Stability: do similar documents with the same prediction have similar explanations?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from veridical.core.component import Presets
from veridical.core.errors import InputError
from veridical.core.example import Example, Unit
from veridical.core.explanation import Explanation
from veridical.masking.ranking import NEUTRAL, levels, places, share
from veridical.metrics.base import CorpusMetric, Measured, Need
from veridical.metrics.evidence import Keep, kept, marked
from veridical.metrics.similarity import (
    NOBODY,
    Lexical,
    Orders,
    Runs,
    Semantic,
    Similarity,
    incidence,
    jaccard,
    load_encoder,
    nearest,
)
from veridical.models.text_fields import check_texts

Words = Literal["labels", "pooled", "top"]


@dataclass(frozen=True)
class Stability(CorpusMetric):
    """The overlap (intersection over union) of an explanation's words with those of the most similar documents.

    Neighbours are the `count` most similar documents with the same prediction, by n-grams (`lexical`) or by the vectors
    of an `encoder` (`semantic`), of whole documents or of the words people marked (`compare`). Documents with more than
    `longest` words take no part. `words` says what is compared: sets of words per label (highly and slightly positive,
    slightly and highly negative), `pooled` by sign, or the `top` `ratio`. `keep` filters words after they have been
    labelled. Case does not matter. `orders=mean` averages over n-gram orders, as the published code does.
    """

    neighbours: Literal["lexical", "semantic"] = "lexical"
    count: int = 3
    longest: int | None = 100
    words: Words = "labels"
    ratio: float = 0.3
    keep: Keep = "all"
    compare: Literal["documents", "rationales"] = "documents"
    orders: Orders = "sum"
    encoder: str = "embedded"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.TEXT})
    meaning: ClassVar[str] = (
        "How much of an explanation's words it shares with the explanations of the most similar documents that have "
        "the same prediction."
    )
    weakness: ClassVar[str] = (
        "Depends on how similar the most similar documents are, so more documents help. Explanations that ignore the "
        "model are very stable: always name the same words."
    )
    percent: ClassVar[bool] = True
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "l2e": {},
        "l2e-ranking": {"words": "top"},
        "l2e-code": {"words": "pooled", "orders": "mean"},
        "l2e-rationales": {"longest": None, "keep": "rationale"},
        "l2e-rationales-code": {
            "longest": None,
            "keep": "rationale",
            "words": "pooled",
            "orders": "mean",
            "compare": "rationales",
        },
    }

    def over(self, examples: Sequence[Example], explanations: Sequence[Explanation]) -> Measured:
        _check(examples, explanations)
        pairs = list(zip(examples, explanations, strict=True))
        values, similarity = np.full((2, len(pairs)), np.nan)
        for group in _groups([index for index, pair in enumerate(pairs) if self._takes_part(*pair)], explanations):
            members = [pairs[index] for index in group]
            near, alike = nearest(self._similarity(members), len(group), self.count)  # [g, count] each
            sets = incidence([self._labelled(*pair) for pair in members])
            one, rank = np.nonzero(near != NOBODY)
            overlap = np.full(near.shape, np.nan)
            overlap[one, rank] = jaccard(sets[one], sets[near[one, rank]])
            values[group], similarity[group] = _mean(overlap), _mean(alike)
        return Measured(torch.from_numpy(values), details={"similarity": torch.from_numpy(similarity)})

    def _takes_part(self, example: Example, explanation: Explanation) -> bool:
        units = len(explanation.units)
        if units < self.fewest or (self.longest is not None and units > self.longest):
            return False
        reads_evidence = self.keep == "rationale" or self.compare == "rationales"
        return not reads_evidence or bool(marked(explanation.units, example.evidence).any())

    def _similarity(self, pairs: Sequence[tuple[Example, Explanation]]) -> Similarity:
        if self.neighbours == "lexical":
            return Lexical.of([self._runs(*pair) for pair in pairs], self.orders)
        if self.compare == "documents":
            return Semantic(load_encoder(self.encoder).vectors([example for example, _ in pairs]))
        texts = [" ".join(word for run in self._runs(*pair) for word in run) for pair in pairs]
        return Semantic(load_encoder(self.encoder).vectors([Example.of(text) for text in texts]))

    def _runs(self, example: Example, explanation: Explanation) -> Runs:
        """The words that documents are compared by, in runs that stand together in one field."""
        units = explanation.units
        chosen = marked(units, example.evidence) if self.compare == "rationales" else np.ones(len(units), dtype=bool)
        runs = groupby(zip(units, chosen, strict=True), key=lambda pair: (pair[0].field, bool(pair[1])))
        return [[_word(unit) for unit, _ in run] for (_, inside), run in runs if inside]

    def _labelled(self, example: Example, explanation: Explanation) -> set[tuple[int, str]]:
        """The words that the explanation names, each with its label."""
        named = kept(self.keep, explanation.units, example.evidence)
        labels = self._labels(explanation)
        rows = zip(explanation.units, labels, named, strict=True)
        return {(label, _word(unit)) for unit, label, inside in rows if inside and label != NEUTRAL}

    def _labels(self, explanation: Explanation) -> list[int]:
        scores = torch.tensor(explanation.scores, dtype=torch.float64)[None]  # [1, U]
        live = torch.ones_like(scores, dtype=torch.bool)
        if self.words == "top":
            first = places(scores, live) < share(self.ratio, live.sum(1))[:, None]
            return (NEUTRAL + first.long())[0].tolist()
        level = levels(scores, live)[0]
        return (level if self.words == "labels" else NEUTRAL + (level - NEUTRAL).sign()).tolist()


def _check(examples: Sequence[Example], explanations: Sequence[Explanation]) -> None:
    check_texts(examples)
    for example, explanation in zip(examples, explanations, strict=True):
        if example.id != explanation.example_id:
            raise InputError(
                f"its explanation is of example {explanation.example_id}",
                example=example.id,
                remedy="Give examples and explanations in the same order.",
            )


def _groups(indices: Sequence[int], explanations: Sequence[Explanation]) -> list[NDArray[np.intp]]:
    """Documents with the same prediction, in the order of their names: no tie may hang on the order they come in."""

    def prediction(index: int) -> str:
        return explanations[index].target

    ordered = sorted(indices, key=lambda index: (prediction(index), explanations[index].example_id))
    return [np.array(list(group), dtype=np.intp) for _, group in groupby(ordered, key=prediction)]


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each row without NaN, and NaN where there is nothing else."""
    there = ~np.isnan(values)
    total = np.where(there, values, 0).sum(1)
    mean: NDArray[np.float64] = np.where(there.any(1), total / np.maximum(there.sum(1), 1), np.nan)
    return mean


def _word(unit: Unit) -> str:
    return unit.text.casefold()
