"""From rows to examples: labels, human evidence, and the one place where a table becomes a `Dataset`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from veridical.core.errors import InputError, UsageError
from veridical.core.values import PAIR, TEXT, Example, Label, Unit
from veridical.data.dataset import Dataset
from veridical.data.tables import Columns, Table, TableRow

_AS_LIST = 'Write a list, as in ["anger", "joy"], and [] where no label applies.'


def read_labels(table: Table, columns: Columns) -> Sequence[Label | None]:
    """The label of each row. Whole numbers and texts are classes; numbers with fractions are regression.

    Lists, and texts where there is a separator, are several labels of one example: a tuple, without repetitions.
    A table without any label is unlabelled data; one where only some are missing is a mistake.
    """
    values = [row.values.get(columns.label or "") for row in table.rows]
    if columns.label is None or all(map(_is_missing, values)):
        return [None] * len(table.rows)
    if columns.label_separator is not None or any(isinstance(value, list) for value in values):
        return _label_lists(table, columns)
    raw = [_present(table, row, columns.label, "Fill it in or drop the row.") for row in table.rows]
    if columns.task == "regression" or (columns.task == "auto" and _is_continuous(raw)):
        return [_number(table, row, value) for row, value in zip(table.rows, raw, strict=True)]
    return [_class_name(table, row, value) for row, value in zip(table.rows, raw, strict=True)]


def label_names(labels: Sequence[Label | None]) -> tuple[str, ...]:
    """The sorted names among the labels, those inside lists too."""
    lists = [label if isinstance(label, tuple) else (label,) for label in labels]
    return tuple(sorted({name for names in lists for name in names if isinstance(name, str)}))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _present(table: Table, row: TableRow, column: str, remedy: str) -> Any:
    value = row.values.get(column)
    if _is_missing(value):
        raise InputError(f"{table.place}, line {row.line}: the label is missing", field=column, remedy=remedy)
    return value


def _is_continuous(values: list[Any]) -> bool:
    # One fraction is enough: a rating column of 3.0, 4.5, 5.0 is a measurement, while 0.0 and 1.0 alone are classes.
    numbers = [_as_number(value) for value in values]
    return all(map(math.isfinite, numbers)) and any(number != int(number) for number in numbers)


def _as_number(value: Any) -> float:
    """The value as a number, NaN where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _number(table: Table, row: TableRow, value: Any) -> float:
    number = _as_number(value)
    if not math.isfinite(number):
        problem = f"{table.place}, line {row.line}: the label {value!r} is not a finite number"
        raise InputError(problem, remedy="Correct it, or use task=classification.")
    return number


def _class_name(table: Table, row: TableRow, value: Any) -> str:
    if isinstance(value, dict):
        problem = f"{table.place}, line {row.line}: the label {value!r} is not a text, a number or a list of texts"
        raise InputError(problem)
    # pandas turns whole numbers into floats as soon as one is missing: 1.0 is the class "1".
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _label_lists(table: Table, columns: Columns) -> list[tuple[str, ...]]:
    if columns.task == "regression":
        problem = f"{table.place}: the labels are lists, which are no numbers"
        raise UsageError(problem, field=columns.label, remedy="Leave out the option task=regression.")
    read = _from_list if columns.label_separator is None else _from_text
    return [read(table, row, columns) for row in table.rows]


def _from_list(table: Table, row: TableRow, columns: Columns) -> tuple[str, ...]:
    value = _present(table, row, columns.label or "", _AS_LIST)
    place = f"{table.place}, line {row.line}"
    if not isinstance(value, list):
        first = next(each.line for each in table.rows if isinstance(each.values.get(columns.label or ""), list))
        problem = f"{place}: the label {value!r} is no list, but that of line {first} is one"
        raise InputError(problem, field=columns.label, remedy=_AS_LIST)
    for name in value:
        # Numbers are refused: [0, 1, 1] could be three labels, or say which of three labels apply.
        if not isinstance(name, str) or not name.strip():
            problem = f"{place}: {name!r} in the list of labels is not the name of a label"
            raise InputError(problem, field=columns.label, remedy=_AS_LIST)
    return tuple(dict.fromkeys(value))


def _from_text(table: Table, row: TableRow, columns: Columns) -> tuple[str, ...]:
    separator = columns.label_separator or ""
    remedy = f"Write {separator!r} alone where no label applies, or drop the row."
    value = _present(table, row, columns.label or "", remedy)
    if not isinstance(value, str):
        problem = f"{table.place}, line {row.line}: the label {value!r} is not a text that a separator could divide"
        raise InputError(problem, field=columns.label, remedy="Write a text, or leave out the option label_separator.")
    names = (part.strip() for part in value.split(separator))
    return tuple(dict.fromkeys(name for name in names if name))


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
