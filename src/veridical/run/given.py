"""What callers may hand over as examples: texts, pairs, images, rows of a table, or examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from veridical.core.errors import UsageError
from veridical.core.values import Example, Image, short
from veridical.data import Dataset, names_data
from veridical.data.columns import Columns, guessed
from veridical.data.rows import to_dataset
from veridical.data.tables import Table, TableRow

Given = str | tuple[str, str] | Image | Example | Mapping[str, Any]
"""What a caller may hand over as an example; a mapping is a row of a table, with a `text` and perhaps a `label`."""

_KINDS = "Give texts, pairs of texts, images, examples, or rows with a `text`: one or a list of them."


def as_examples(given: Given | Iterable[Given]) -> list[Example]:
    """Examples of what was handed over, numbered in their order if they have no ids; one alone is a list of one.

    Tables of pandas and of the `datasets` library are lists of rows, too.
    """
    several = _listed(given)
    rows = [each for each in several if isinstance(each, Mapping)]
    if rows and len(rows) == len(several):
        return _from_rows(rows)
    return [_example(value, index) for index, value in enumerate(several)]


def data_name(given: object) -> str | None:
    """The name of the data that examples are of; examples that were made in Python have none."""
    return given.name if isinstance(given, Dataset) else None


def _listed(given: Any) -> list[Any]:
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a table of pandas, which is not imported for this
        return list(given.to_dict("records"))
    if _is_row(given):
        return [given.to_dict()]
    if isinstance(given, Mapping) and given and all(isinstance(column, list) for column in given.values()):
        return _rows_of(given)
    if isinstance(given, str) and names_data(given):
        remedy = f"load_data({given!r}) gives its examples; as a text it stands in a list: [{given!r}]."
        raise UsageError(f"{given!r} is the name of data, and no text to classify", remedy=remedy)
    if _is_pair(given) or isinstance(given, str | Image | Example | Mapping):
        return [given]
    # A set would come out in another order each time Python starts, and bytes are numbers.
    if given is None or isinstance(given, bytes | set | frozenset) or not isinstance(given, Iterable):
        raise UsageError(f"{short(given)} is no example and no list of them", remedy=_KINDS)
    return list(given)


def _rows_of(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """The rows of a table that is given by its columns, as a part of a `datasets` table is."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise UsageError(f"the columns are not equally long: {told}", remedy="Each row needs a value in every column.")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_row(given: Any) -> bool:
    """Whether it is a row of a pandas table; a column of texts has numbers where a row has names."""
    return hasattr(given, "to_dict") and hasattr(given, "index") and all(isinstance(name, str) for name in given.index)


def _is_pair(given: object) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) for part in given)


def _example(value: Any, index: int) -> Example:
    if isinstance(value, Mapping):
        raise UsageError(f"number {index} of the examples is a row, and others are not", remedy=_KINDS)
    if isinstance(value, list) and _is_pair(tuple(value)):
        value = tuple(value)
    is_known = isinstance(value, str | Image | Example) or _is_pair(value)
    if not is_known and not hasattr(value, "__array_interface__"):  # which pictures of other libraries have
        raise UsageError(f"number {index} of the examples is {short(value)}", remedy=_KINDS)
    return Example.of(value, str(index))


def _from_rows(rows: Sequence[Mapping[str, Any]]) -> list[Example]:
    names = tuple(dict.fromkeys(str(name) for row in rows for name in row))
    columns = guessed(Columns(), names)
    if columns.text is None:
        told = ", ".join(names) or "none"
        raise UsageError(f"the rows have no text: their columns are {told}", remedy="Call the column `text`.")
    table = Table("the rows given", [TableRow(number, dict(row)) for number, row in enumerate(rows, 1)], names)
    return list(to_dataset(table, columns).examples)
