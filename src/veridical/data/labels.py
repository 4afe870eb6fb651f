"""Labels of a table: class names, or numbers where they are a measurement."""

from __future__ import annotations

import math
from typing import Any

from veridical.core.errors import InputError
from veridical.data.columns import Columns
from veridical.data.tables import Row, Table

Label = str | float | None


def read_labels(table: Table, columns: Columns) -> list[Label]:
    """The label of each row. Whole numbers and texts are classes; numbers with fractions are regression.

    A table without any label is unlabelled data; one where only some are missing is a mistake.
    """
    if columns.label is None or all(_is_missing(row.values.get(columns.label)) for row in table.rows):
        return [None] * len(table.rows)
    raw = [_present(table, row, columns.label) for row in table.rows]
    if columns.task == "regression" or (columns.task == "auto" and _is_continuous(raw)):
        return [_number(table, row, value) for row, value in zip(table.rows, raw, strict=True)]
    return [_class_name(table, row, value) for row, value in zip(table.rows, raw, strict=True)]


def class_names(labels: list[Label]) -> tuple[str, ...]:
    """The sorted classes among the labels."""
    return tuple(sorted({label for label in labels if isinstance(label, str)}))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _present(table: Table, row: Row, column: str) -> Any:
    value = row.values.get(column)
    if _is_missing(value):
        raise InputError(
            f"{table.place}, line {row.line}: the label is missing", field=column, remedy="Fill it in or drop the row."
        )
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


def _number(table: Table, row: Row, value: Any) -> float:
    number = _as_number(value)
    if not math.isfinite(number):
        problem = f"{table.place}, line {row.line}: the label {value!r} is not a finite number"
        raise InputError(problem, remedy="Correct it, or use task=classification.")
    return number


def _class_name(table: Table, row: Row, value: Any) -> str:
    if isinstance(value, list | dict):
        raise InputError(f"{table.place}, line {row.line}: the label {value!r} is neither a text nor a number")
    # pandas turns whole numbers into floats as soon as one is missing: 1.0 is the class "1".
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
