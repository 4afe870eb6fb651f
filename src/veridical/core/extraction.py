"""How rationales are cut from texts, as options. `veridical.core.rationale` does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veridical.core.component import Component, Share, option

Shape = Literal["top-k", "contiguous"]
"""The highest words wherever they stand, or the run of words with the highest sum."""

WordOrder = Literal["text", "score"]
"""Kept words as they stand in the text, or the highest first."""


@dataclass(frozen=True)
class Extraction(Component):
    """How rationales are cut: by which method's scores, how much of a text, as single words or as one run of words.

    The words are those of the first text; the second of a pair is kept whole. If the model holds the first, it is the
    other way round.
    """

    method: str = option(
        "attention", "The method whose scores choose the words; `veridical list explainers` shows all."
    )
    ratio: Share = option(0.2, "The share of each text that is kept.")
    rationale: Shape = option("top-k", "The highest words wherever they stand, or the best run of words.")
    order: WordOrder = option("text", "Kept words as they stand in the text, or the highest score first.")
