"""From rows to examples: ids, human evidence, and the one place where a table becomes a `Dataset`."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from veridical.core.errors import InputError, VeridicalWarning
from veridical.core.values import PAIR, TEXT, Example, Label, Unit
from veridical.data.columns import Columns
from veridical.data.dataset import Dataset
from veridical.data.labels import label_names, read_labels
from veridical.data.tables import Table, TableRow

TAGGED = {TEXT: ("source_words", "source_tags"), PAIR: ("target_words", "target_tags")}
"""Quality estimation data tags every word of an input: BAD, or 1, where the translation goes wrong."""

BAD, OK = (1, "1", "BAD"), (0, "0", "OK")

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
    except (ValueError, RecursionError):
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
    """Evidence of word tags, one unit per word tagged BAD, and how many words could not be found in their text."""
    units: list[Unit] = []
    lost = 0
    for field, (words_key, tags_key) in TAGGED.items():
        text = inputs.get(field, "")
        if (tags := _tags(values.get(tags_key))) is None:
            continue
        words = _words(values.get(words_key), text)
        if len(tags) == 2 * len(words) + 1:  # the gaps around the words are tagged, too
            tags = tags[1::2]
        if len(words) != len(tags):
            raise InputError(f"{place}: {len(tags)} tags for {len(words)} words", example=id, field=tags_key)
        if odd := [tag for tag in tags if tag not in BAD + OK]:
            raise InputError(
                f"{place}: {odd[0]!r} is no tag: they are OK or BAD, or 0 or 1", example=id, field=tags_key
            )
        spans = align(words, text)
        units += [_unit(field, text, span) for span, tag in zip(spans, tags, strict=True) if span and tag in BAD]
        lost += spans.count(None)
    return tuple(units), lost


def _tags(value: Any) -> list[Any] | None:
    """The tags of a row, as a list or a text such as `OK BAD OK`; None where it has none."""
    if isinstance(value, str):  # any other text is a column that only has this name
        return value.split() if value.strip() and all(tag in BAD + OK for tag in value.split()) else None
    return value if isinstance(value, list) else None


def _words(value: Any, text: str) -> list[str]:
    """The words that are tagged: a list, a text, or without either those of the input between its blanks."""
    return [str(word) for word in value] if isinstance(value, list) else str(value or text).split()


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
    rows = rows_by_id(table, columns)
    if told := _repetitions(table, columns, rows):
        warnings.warn(f"{table.place}: {told}", VeridicalWarning, stacklevel=2)
    labels = read_labels(Table(table.place, list(rows.values()), table.columns), columns)
    examples = [_example(table, columns, row, id, label) for (id, row), label in zip(rows.items(), labels, strict=True)]
    return Dataset(table.place, tuple(examples), label_names(labels))


def rows_by_id(table: Table, columns: Columns) -> dict[str, TableRow]:
    """The rows by their ids, in their order; a row without an id has its number from 1.

    A row that says the same as an earlier one of its id is left out. One that says something else gets a number beside
    its id, `7 (2)`. Both depend on the table alone, so ids are the same in every split and every run.
    """
    ids = [_id_of(row, number, columns) for number, row in enumerate(table.rows, 1)]
    repeated = {id for id, count in Counter(ids).items() if count > 1}
    contents = (_content(row, columns) if id in repeated else "" for id, row in zip(ids, table.rows, strict=True))
    own = own_ids(ids, contents)
    return {id: row for id, row in zip(own, table.rows, strict=True) if id is not None}


def own_ids(ids: Sequence[str], contents: Iterable[str]) -> list[str | None]:
    """An id for each of some things that no other has; None for one that repeats the id and the content of another."""
    taken, found = set(ids), list[str | None]()
    known: dict[str, set[str]] = {}
    for id, content in zip(ids, contents, strict=True):
        said = known.setdefault(id, set())
        if content in said:
            found.append(None)
            continue
        said.add(content)
        found.append(id if len(said) == 1 else _numbered(id, len(said), taken))
    return found


def _numbered(id: str, number: int, taken: set[str]) -> str:
    """The id with the next number that no other id has already."""
    while (name := f"{id} ({number})") in taken:
        number += 1
    taken.add(name)
    return name


def _id_of(row: TableRow, number: int, columns: Columns) -> str:
    value = row.values.get(columns.id) if columns.id else None
    return str(number) if value is None or value == "" else str(value)


def _content(row: TableRow, columns: Columns) -> str:
    """All that a row says of its example."""
    return repr([row.values.get(name) for name in sorted((columns.used() - {columns.id}) | _TAG_COLUMNS)])


def _repetitions(table: Table, columns: Columns, rows: Mapping[str, TableRow]) -> str:
    """What became of ids that occur more than once, for people; empty where there are none."""
    kept = {row.line for row in rows.values()}
    gone = [row.line for row in table.rows if row.line not in kept]
    new = {id: row.line for id, row in rows.items() if columns.id and id != str(row.values.get(columns.id) or id)}
    told = told_repetitions(gone, new)
    return f"{told}; id=none numbers all rows instead" if new else told


def told_repetitions(gone: Sequence[int], new: Mapping[str, int]) -> str:
    """A sentence on the lines that were left out, and on the new ids with their lines; empty without either."""
    told = []
    if gone:
        counted = "1 row repeats" if len(gone) == 1 else f"{len(gone):,} rows repeat"
        told.append(f"{counted} the id and the content of another (line {gone[0]}), and only the first is taken")
    if new:
        counted = "1 row has" if len(new) == 1 else f"{len(new):,} rows have"
        name, line = next(iter(new.items()))
        told.append(f"{counted} the id of another and other content, and a number beside it: {name!r} (line {line})")
    return "; ".join(told)


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
    tagged = [pair for pair in TAGGED.values() if _tags(row.values.get(pair[1])) is not None]
    tags = {column for pair in tagged for column in pair}
    extra = {key: value for key, value in row.values.items() if key not in columns.used() | tags}
    return {**extra, UNALIGNED: lost} if lost else extra
