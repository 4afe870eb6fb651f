"""Stability: do similar documents with the same prediction have similar explanations?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from veridical.core.component import Count, Presets, Share, Within, option
from veridical.core.values import Example, Explanation, Unit, gives
from veridical.masking.erasure import NEUTRAL, given_levels, levels, places, share
from veridical.metrics.base import CorpusMetric, Measured, Need, check_pairs
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
from veridical.models.text_rows import check_texts

Words = Literal["labels", "pooled", "top"]


@dataclass(frozen=True)
class Stability(CorpusMetric):
    """The overlap (intersection over union) of an explanation's words with those of the most similar documents.

    Similar documents with the same prediction should have similar explanations (L2E). Choose it for many documents of
    one kind, and read it beside a metric of faithfulness. Upper and lower case are the same here.
    """

    neighbours: Literal["lexical", "semantic"] = option(
        "lexical", "How similar documents are found: by shared n-grams, or by the vectors of an encoder."
    )
    count: Annotated[int, Within(1, 1000)] = option(3, "How many of the most similar documents are compared with each.")
    longest: Count | None = option(100, "Documents with more words than this take no part; none lets all take part.")
    words: Words = option(
        "labels",
        "What is compared: words by label (highly or slightly positive or negative), words pooled by sign, or the "
        "first words.",
    )
    ratio: Share = option(0.3, "The share of a document's words that `words=top` compares.")
    keep: Keep = option(
        "all", "Which labelled words are compared: all, those that people marked, or all but stop words."
    )
    compare: Literal["documents", "rationales"] = option(
        "documents", "What makes documents similar: all of their words, or the words that people marked."
    )
    orders: Orders = option(
        "sum", "Sum the similarities of 1-grams to 4-grams, or take their mean, as L2E's published code does."
    )
    encoder: str = option("embedded", "The model whose vectors `neighbours=semantic` compares: a folder or hub id.")
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
        check_texts(examples)
        check_pairs(examples, explanations)
        pairs = list(zip(examples, explanations, strict=True))
        values, similarity = np.full((2, len(pairs)), np.nan)  # [N] each; NaN for whoever has no neighbour
        for group in _groups([index for index, pair in enumerate(pairs) if self._takes_part(*pair)], explanations):
            members = [pairs[index] for index in group]
            near, close = nearest(self._similarity(members), len(group), self.count)  # [g, count] each
            # Sets as rows of a sparse matrix, so that all pairs of neighbours are compared at once.
            sets = incidence([self._labelled(*pair) for pair in members])
            one, rank = np.nonzero(near != NOBODY)  # a small group has fewer neighbours than were asked for
            overlap = np.full(near.shape, np.nan)
            overlap[one, rank] = jaccard(sets[one], sets[near[one, rank]])
            values[group], similarity[group] = _mean(overlap), _mean(close)
        return Measured(torch.from_numpy(values), details={"similarity": torch.from_numpy(similarity)})

    def _takes_part(self, example: Example, explanation: Explanation) -> bool:
        """Whether a document is compared with others: it is not too short or long, and marked if marks are read."""
        units = len(explanation.units)
        if units < self.fewest or (self.longest is not None and units > self.longest):
            return False
        reads_evidence = self.keep == "rationale" or self.compare == "rationales"
        return not reads_evidence or bool(marked(explanation.units, example.evidence).any())

    def _similarity(self, pairs: Sequence[tuple[Example, Explanation]]) -> Similarity:
        """How similar documents are, by the words or vectors that were asked for."""
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
        # A run ends where the field changes or a word is not chosen: an n-gram over a gap is no phrase of the text.
        runs = groupby(zip(units, chosen, strict=True), key=lambda pair: (pair[0].field, bool(pair[1])))
        return [[_word(unit) for unit, _ in run] for (_, inside), run in runs if inside]

    def _labelled(self, example: Example, explanation: Explanation) -> set[tuple[int, str]]:
        """The words that the explanation names, each with its label."""
        # Labels come first: their levels depend on all scores, and a filter must not move them.
        named = kept(self.keep, explanation.units, example.evidence)
        labels = self._labels(explanation)
        rows = zip(explanation.units, labels, named, strict=True)
        return {(label, _word(unit)) for unit, label, inside in rows if inside and label != NEUTRAL}

    def _labels(self, explanation: Explanation) -> list[int]:
        """The label of each unit: its level, only the sign of that, or whether it is among the first words."""
        scores = torch.tensor(explanation.scores, dtype=torch.float64)[None]  # [1, U]
        live = torch.ones_like(scores, dtype=torch.bool)
        if self.words == "top":
            first = places(scores, live) < share(self.ratio, live.sum(1))[:, None]
            return (NEUTRAL + first.long())[0].tolist()
        level = (given_levels(scores) if gives(explanation.spec) == "levels" else levels(scores, live))[
            0
        ]  # [U]: from highly negative over neutral to highly positive
        return (level if self.words == "labels" else NEUTRAL + (level - NEUTRAL).sign()).tolist()


def _groups(indices: Sequence[int], explanations: Sequence[Explanation]) -> list[NDArray[np.intp]]:
    """Documents with the same prediction, ordered by id: ties must not depend on the order of documents in a file."""

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
