"""Labels of a table: classes, numbers, or any number of labels per row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from veridical.core.errors import InputError, UsageError
from veridical.core.values import Label
from veridical.data.columns import Columns
from veridical.data.tables import Table, TableRow

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
    _refuse_infinite(table, columns, raw)
    if columns.task == "regression" or (columns.task == "auto" and _is_continuous(raw)):
        return [_number(table, row, value, columns.label) for row, value in zip(table.rows, raw, strict=True)]
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


def _number(table: Table, row: TableRow, value: Any, column: str) -> float:
    number = _as_number(value)
    if not math.isfinite(number):
        problem = f"{table.place}, line {row.line}: the label {value!r} is not a finite number"
        raise InputError(problem, field=column, remedy="Correct it, or use task=classification.")
    return number


def _refuse_infinite(table: Table, columns: Columns, values: list[Any]) -> None:
    """Refuse NaN and infinities: they are gaps and mistakes among numbers, and would be classes of their own.

    In a text file `nan` and `inf` are that only where all other labels are numbers; else they are names.
    """
    among_numbers = columns.task != "classification" and all(map(_is_written_number, values))
    among_numbers = among_numbers and any(math.isfinite(_as_number(value)) for value in values)
    for row, value in zip(table.rows, values, strict=True):
        if (isinstance(value, float) or among_numbers) and not math.isfinite(_as_number(value)):
            problem = f"{table.place}, line {row.line}: the label {value!r} is not a finite number"
            raise InputError(problem, field=columns.label, remedy="Correct it, or drop the row.")


def _is_written_number(value: Any) -> bool:
    """Whether a value is a number, or a text that is one; `nan` is."""
    try:
        float(value)
    except (ValueError, OverflowError, TypeError):
        return False
    return not isinstance(value, bool)


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
