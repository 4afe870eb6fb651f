"""Contractions in English: "do not" for "don't", and the other way round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import regex

from veridical.metrics.attacking.edits import like
from veridical.models.words import Span

_NEGATED = (
    *("is", "are", "was", "were", "do", "does", "did", "have", "has", "had"),
    *("could", "would", "should", "must", "might", "need"),
)
_PERSONS = ("you", "we", "they")
_THINGS = ("he", "she", "it", "that", "there", "who", "what")

_NEGATIONS = {
    **{f"{verb} not": f"{verb}n't" for verb in _NEGATED},
    "cannot": "can't",
    "can not": "can't",
    "will not": "won't",
    "shall not": "shan't",
}
_VERBS = {
    "i am": "i'm",
    **{f"{who} are": f"{who}'re" for who in _PERSONS},
    **{f"{who} have": f"{who}'ve" for who in ("i", *_PERSONS)},
    **{f"{who} is": f"{who}'s" for who in (*_THINGS, "here", "where", "how")},
    **{
        f"{who} {verb}": f"{who}'{verb[-short:]}"
        for who, (verb, short) in product(("i", *_PERSONS, *_THINGS), (("will", 2), ("would", 1)))
    },
    "let us": "let's",
}
# What ends in 's or 'd may also stand for "has" and "had"; the verbs here are the more frequent ones.
_SHORT = {**_NEGATIONS, **_VERBS}
_LONG = {short: long for long, short in reversed(_SHORT.items())}  # "can't" is "cannot", the first of its two


def contractions(text: str) -> list[tuple[Span, str]]:
    """Every place where a contraction can be written out, or words be contracted, with what then stands there."""
    curly = "’" in text and "'" not in text
    found = [*_found(text, _LONG_PATTERN, _LONG), *_found(text, _SHORT_PATTERN, _SHORT)]
    return [(span, like(text[slice(*span)], new.replace("'", "’") if curly else new)) for span, new in sorted(found)]


def _found(text: str, pattern: regex.Pattern[str], table: Mapping[str, str]) -> Iterator[tuple[Span, str]]:
    for match in pattern.finditer(text, overlapped=True):
        plain = " ".join(match.group().lower().replace("’", "'").split())
        if plain in table:  # to a pattern, a long s is an s, too
            yield match.span(), table[plain]


def _any(*phrases: str) -> str:
    """A pattern of any of some phrases, whatever their spaces and apostrophes."""
    return "|".join(phrase.replace(" ", r"\s+").replace("'", "['’]") for phrase in phrases)


# Nobody says "yes, it's." or "that's who they're.": a verb is contracted only before another word.
_SHORT_PATTERN = regex.compile(
    rf"(?<![\w'’])(?:(?:{_any(*_NEGATIONS)})(?!['’]?\w)|(?:{_any(*_VERBS)})(?=\s+\w))", regex.IGNORECASE
)
_LONG_PATTERN = regex.compile(rf"(?<![\w'’])(?:{_any(*_LONG)})(?!['’]?\w)", regex.IGNORECASE)
