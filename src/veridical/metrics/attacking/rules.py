"""Persons and places by rules: few, but without any model or library."""

from __future__ import annotations

import regex

from veridical.metrics.attacking.lists import Groups, Short
from veridical.models.words import Span

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


_PLACE = regex.compile(rf"\b(?:{_any(Short().places())})\b")
_PERSON = regex.compile(
    rf"\b(?:Mrs?|Ms|Dr|Prof|Sir|Lady)\.?\s(?P<name>{_CAPITALISED}(?:\s{_CAPITALISED})?)\b"
    rf"|\b(?P<name>(?:{_any(Short().first_names())})(?:\s(?!(?:{_any(Short().places())})\b){_CAPITALISED})?)\b"
)
