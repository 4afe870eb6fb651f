"""The edits that an attack makes: names, places, numbers and contractions put in other words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import regex

from veridical.data.dataset import Chance
from veridical.metrics.attack_lists import Groups, Lists, like, others
from veridical.models.text_rows import Span, word_spans


@dataclass(frozen=True)
class Edit:
    """Put `text` in the place of the characters `span` of the input `field`; `words` are the words it modifies."""

    field: str
    span: Span
    text: str
    words: tuple[Span, ...]

    @property
    def touched(self) -> set[tuple[str, Span]]:
        """The words with their field: another text has words at the same places."""
        return {(self.field, word) for word in self.words}


def rewrite(inputs: Mapping[str, str], edits: Sequence[Edit]) -> dict[str, str]:
    """The inputs with edits made that do not overlap."""
    made = dict(inputs)
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):  # the last first, so that offsets stay right
        start, end = edit.span
        made[edit.field] = made[edit.field][:start] + edit.text + made[edit.field][end:]
    return made


def words_of(text: str) -> list[Span]:
    """The words of a text that are not punctuation."""
    return [span for span in word_spans(text) if any(map(str.isalnum, text[slice(*span)]))]


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
        if plain in table:  # ignoring case, a pattern also takes other letters for an s, which no table has
            yield match.span(), table[plain]


def _any(*phrases: str) -> str:
    """A pattern of any of some phrases, whatever their spaces and apostrophes."""
    return "|".join(phrase.replace(" ", r"\s+").replace("'", "['’]") for phrase in phrases)


# Nobody says "yes, it's." or "that's who they're.": a verb is contracted only before another word.
_SHORT_PATTERN = regex.compile(
    rf"(?<![\w'’])(?:(?:{_any(*_NEGATIONS)})(?!['’]?\w)|(?:{_any(*_VERBS)})(?=\s+\w))", regex.IGNORECASE
)
_LONG_PATTERN = regex.compile(rf"(?<![\w'’])(?:{_any(*_LONG)})(?!['’]?\w)", regex.IGNORECASE)


_NAME = regex.compile(r"\p{L}{2,}(?:-\p{L}+)*")


def other_names(text: str, person: Span, lists: Lists, chance: Chance, count: int) -> list[tuple[Span, str]]:
    """For the first and for the last name of a person `count` others each; names between them stay."""
    words = [match.span() for match in _NAME.finditer(text, *person)]
    return [
        (span, other)
        for span, groups in _parts(text, words, lists)
        for other in others(text[slice(*span)], groups, chance, count)
    ]


def _parts(text: str, words: list[Span], lists: Lists) -> list[tuple[Span, Groups]]:
    """The words to replace, each with the names it is one of."""
    if not words:
        return []
    if len(words) > 1:
        return [(words[0], lists.first_names()), (words[-1], lists.last_names())]
    word = text[slice(*words[0])]
    is_last = _has(lists.last_names(), word) and not _has(lists.first_names(), word)
    return [(words[0], lists.last_names() if is_last else lists.first_names())]


def _has(groups: Groups, word: str) -> bool:
    return any(word.casefold() == name.casefold() for group in groups for name in group)


_UNTOUCHED = (0, 2, 4)
"""Numbers that stay: 0 has no other between 0 and twice itself, and in chats 2 and 4 are words: "to" and "for"."""

# A number with more digits than these names something, such as a telephone, and counts nothing.
_NUMBER = regex.compile(
    r"(?<!\w|[0-9][.,])(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,15})(?:\.[0-9]{1,4})?(?!\w|[.,][0-9])"
)


def numbers(text: str, chance: Chance, count: int) -> list[tuple[Span, str]]:
    """For every number `count` others, anywhere from nothing to twice as much, written in the same way."""
    return [
        (match.span(), other)
        for match in _NUMBER.finditer(text)
        if float(match.group().replace(",", "")) not in _UNTOUCHED
        for other in _others(match.group(), chance, count)
    ]


def _others(number: str, chance: Chance, count: int) -> list[str]:
    """Other numbers with as many decimals, each as likely as any."""
    decimals = len(number.partition(".")[2])
    value = int(number.replace(",", "").replace(".", ""))  # in units of the last digit
    found: dict[int, None] = {}
    while len(found) < min(count, 2 * value):  # there are 2 * value others between 0 and twice the value
        drawn = chance.below(2 * value + 1)
        if drawn != value:
            found[drawn] = None
    return [_written(drawn, decimals, number) for drawn in found]


def _written(value: int, decimals: int, like: str) -> str:
    """A number in units of its last digit, with the separators and leading zeros of another one."""
    whole, rest = divmod(value, 10**decimals)
    before = like.partition(".")[0]
    separated = f"{whole:,}" if "," in before else str(whole)
    padded = separated.zfill(len(before)) if before.startswith("0") else separated
    return f"{padded}.{rest:0{decimals}}" if decimals else padded
