"""From rows to examples: human evidence, and the one place where a table becomes a `Dataset`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from veridical.core.errors import InputError
from veridical.core.example import PAIR, TEXT, Example, Label, Unit
from veridical.data.dataset import Dataset
from veridical.data.labels import label_names, read_labels
from veridical.data.tables import Columns, Table, TableRow

TAGGED = {TEXT: ("source_words", "source_tags"), PAIR: ("target_words", "target_tags")}
"""Quality estimation data tags every word of an input: 1 where the translation goes wrong."""

BAD = (1, "1", "BAD")

UNALIGNED = "unaligned_words"
"""The `extra` that counts words which do not occur in the text and so cannot be evidence."""


def span_units(text: str, spans: Any, place: str, id: str) -> tuple[Unit, ...]:
    """Evidence of `[start, end)` spans into the text, given as a list or as its JSON."""
    return tuple(
        Unit(TEXT, (start, end), text[start:end]) for start, end in _checked(_listed(spans, place, id), text, place, id)
    )


def _listed(spans: Any, place: str, id: str) -> Sequence[Any]:
    # A CSV cell can only hold the JSON of a list.
    try:
        spans = (json.loads(spans) if spans.strip() else []) if isinstance(spans, str) else spans
    except ValueError:
        spans = 0
    if spans is None or isinstance(spans, list):
        return spans or []
    raise InputError(f"{place}: rationales are a list of [start, end] pairs", example=id, field="rationales")


def _checked(spans: Sequence[Any], text: str, place: str, id: str) -> list[tuple[int, int]]:
    for span in spans:
        is_pair = isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span)
        if not (is_pair and 0 <= span[0] < span[1] <= len(text)):
            problem = f"{place}: the rationale {span} is no span of the text, which has {len(text)} characters"
            raise InputError(problem, example=id, field="rationales", remedy="Spans are [start, end), counted from 0.")
    return [(start, end) for start, end in spans]


def tagged_units(
    inputs: Mapping[str, Any], values: Mapping[str, Any], place: str, id: str
) -> tuple[tuple[Unit, ...], int]:
    """Evidence of word tags, one unit per word tagged 1, and how many words could not be found in their text."""
    units: list[Unit] = []
    lost = 0
    for field, (words_key, tags_key) in TAGGED.items():
        words, tags = (values[key] if isinstance(values.get(key), list) else [] for key in (words_key, tags_key))
        if len(words) != len(tags):
            raise InputError(f"{place}: {len(tags)} tags for {len(words)} words", example=id, field=tags_key)
        spans = align([str(word) for word in words], inputs.get(field, ""))
        units += [
            _unit(field, inputs[field], span) for span, tag in zip(spans, tags, strict=True) if span and tag in BAD
        ]
        lost += spans.count(None)
    return tuple(units), lost


def _unit(field: str, text: str, span: tuple[int, int]) -> Unit:
    return Unit(field, span, text[slice(*span)])


def align(words: Sequence[str], text: str, slack: int = 8) -> list[tuple[int, int] | None]:
    """Where each word stands in the text, read from left to right; None for a word that is not there.

    A word is looked for only near the end of the one before (`slack` characters, more after a lost word): otherwise a
    single odd word could match far ahead and take all that follows with it.
    """
    spans: list[tuple[int, int] | None] = []
    at, reach = 0, slack
    for word in words:
        found = text.find(word, at, at + reach + len(word)) if word else -1
        spans.append((found, found + len(word)) if found >= 0 else None)
        at, reach = (found + len(word), slack) if found >= 0 else (at, reach + len(word) + 1)
    return spans


_TAG_COLUMNS = {column for pair in TAGGED.values() for column in pair}


def to_dataset(table: Table, columns: Columns) -> Dataset:
    """The rows of a table as examples, in their order; columns without a role go to `extra`."""
    columns = columns.within(table)
    labels = read_labels(table, columns)
    ids = _ids(table, columns)
    examples = [_example(table, columns, *each) for each in zip(table.rows, ids, labels, strict=True)]
    return Dataset(table.place, tuple(examples), label_names(labels))


def _ids(table: Table, columns: Columns) -> list[str]:
    """The id of each row, its number from 1 where it has none; the same id twice is an error."""
    seen: dict[str, int] = {}
    for number, row in enumerate(table.rows, 1):
        value = row.values.get(columns.id) if columns.id else None
        id = str(number) if value is None or value == "" else str(value)
        if id in seen:
            problem = f"{table.place}: lines {seen[id]} and {row.line} have the same id"
            raise InputError(problem, example=id, field=columns.id, remedy="Ids must differ.")
        seen[id] = row.line
    return list(seen)


def _example(table: Table, columns: Columns, row: TableRow, id: str, label: Label | None) -> Example:
    place = f"{table.place}, line {row.line}"
    inputs = {TEXT: _text(row, columns.text, place, id)}
    if columns.text_pair:
        inputs[PAIR] = _text(row, columns.text_pair, place, id)
    spans = span_units(inputs[TEXT], row.values.get(columns.rationales or ""), place, id)
    tagged, lost = tagged_units(inputs, row.values, place, id)
    return Example(id, inputs, label, spans + tagged, _extra(row, columns, lost))


def _text(row: TableRow, column: str | None, place: str, id: str) -> str:
    value = row.values.get(column or "")
    if not isinstance(value, str):
        problem = f"{place}: " + ("the text is missing" if value is None else f"{value!r} is not a text")
        raise InputError(problem, example=id, field=column)
    return value


def _extra(row: TableRow, columns: Columns, lost: int) -> dict[str, Any]:
    tags = {key for key in _TAG_COLUMNS if isinstance(row.values.get(key), list)}
    extra = {key: value for key, value in row.values.items() if key not in columns.used() | tags}
    return {**extra, UNALIGNED: lost} if lost else extra
