"""An edit: characters of an input that are replaced by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from veridical.models.words import Span, word_spans


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


def like(old: str, new: str) -> str:
    """A replacement in the case of what it replaces: lower, UPPER, or Capitalised."""
    if old.islower():
        return new.lower()
    if old.isupper() and sum(map(str.isalpha, old)) > 1:
        return new.upper()
    return new[:1].upper() + new[1:]
