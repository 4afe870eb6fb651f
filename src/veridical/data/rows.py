"""From rows to examples: the one place where a table becomes a `Dataset`."""

from __future__ import annotations

from typing import Any

from veridical.core.errors import InputError
from veridical.core.example import PAIR, TEXT, Example
from veridical.data.columns import Columns
from veridical.data.dataset import Dataset
from veridical.data.evidence import TAGGED, UNALIGNED, span_units, tagged_units
from veridical.data.labels import Label, class_names, read_labels
from veridical.data.tables import Row, Table

_TAG_COLUMNS = {column for pair in TAGGED.values() for column in pair}


def to_dataset(table: Table, columns: Columns) -> Dataset:
    """The rows of a table as examples, in their order; columns without a role go to `extra`."""
    columns = columns.within(table)
    labels = read_labels(table, columns)
    ids = _ids(table, columns)
    examples = [_example(table, columns, *each) for each in zip(table.rows, ids, labels, strict=True)]
    return Dataset(table.place, tuple(examples), class_names(labels))


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


def _example(table: Table, columns: Columns, row: Row, id: str, label: Label) -> Example:
    place = f"{table.place}, line {row.line}"
    inputs = {TEXT: _text(row, columns.text, place, id)}
    if columns.text_pair:
        inputs[PAIR] = _text(row, columns.text_pair, place, id)
    spans = span_units(inputs[TEXT], row.values.get(columns.rationales or ""), place, id)
    tagged, lost = tagged_units(inputs, row.values, place, id)
    return Example(id, inputs, label, spans + tagged, _extra(row, columns, lost))


def _text(row: Row, column: str | None, place: str, id: str) -> str:
    value = row.values.get(column or "")
    if not isinstance(value, str):
        problem = f"{place}: " + ("the text is missing" if value is None else f"{value!r} is not a text")
        raise InputError(problem, example=id, field=column)
    return value


def _extra(row: Row, columns: Columns, lost: int) -> dict[str, Any]:
    tags = {key for key in _TAG_COLUMNS if isinstance(row.values.get(key), list)}
    extra = {key: value for key, value in row.values.items() if key not in columns.used() | tags}
    return {**extra, UNALIGNED: lost} if lost else extra
