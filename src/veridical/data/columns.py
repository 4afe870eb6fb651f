"""Which column of a table holds what, and how its cells are read: the options of files, folders and hub data."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from veridical.core.component import Component, Seed, option
from veridical.core.errors import UsageError
from veridical.data.tables import Cells, Table

ROLES = ("text", "text_pair", "label", "id", "split", "rationales")
ID = "id"

_TAB = {r"\t": "\t"}
"""A tab as people write it on a command line."""


@dataclass(frozen=True)
class Columns(Component):
    """The columns of a table by role, and how to read them.

    Where a column is not named, the column with the name of the role is taken if there is one; only a text must exist.
    The split is the exception: a column for it has to be named.
    """

    text: str | None = option(None, "The column with the texts.")
    text_pair: str | None = option(None, "The column with the second text of each pair.")
    label: str | None = option(None, "The column with the labels.")
    label_separator: str | None = option(
        None, "What stands between the labels of a cell, such as `;`, where an example can have several labels."
    )
    id: str | None = option(
        ID, "The column with an id for each row, if there is one; `none` passes it over and numbers the rows from 1."
    )
    split: str | None = option(None, "The column that tells the split; without one, splits of a file are drawn.")
    rationales: str | None = option(
        None, "The column with what people marked: `[start, end]` pairs of characters, as a list or as JSON."
    )
    task: Literal["auto", "classification", "regression"] = option(
        "auto", "Whether labels are classes or numbers; `auto` takes numbers with fractions for regression."
    )
    seed: Seed = option(0, "The seed that splits are drawn with: 80% train, 10% dev, 10% test.")
    separator: str | None = option(
        None, "What stands between the cells of CSV and TSV files, such as `;`; by default a comma, or a tab in TSV."
    )
    quotes: bool = option(True, "Whether quotes in CSV and TSV files enclose cells; false takes them as they are.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.separator is not None:
            _check_separator(self.cells.separator)
        if self.label_separator == "":
            remedy = "It is at least one character, as in label_separator=;"
            raise UsageError("the label_separator is empty", remedy=remedy)

    @property
    def cells(self) -> Cells:
        """How cells are told apart."""
        return Cells(_TAB.get(self.separator or "", self.separator), self.quotes)

    def within(self, table: Table) -> Columns:
        """The same with the defaults filled in from the columns of a table; a column that was named must exist."""
        named = {role: getattr(self, role) for role in ROLES if getattr(self, role) is not None}
        if named.get("id") == ID and ID not in table.columns:
            named["id"] = None
        for role, column in named.items():
            if column is not None and column not in table.columns:
                raise _missing(table, column, f"{role}={column}")
        # An id is passed over where `none` is said, and a split has to be named.
        defaults = {role: role for role in ROLES if role not in ("id", "split") and role in table.columns}
        if "text" not in {**defaults, **named}:
            raise _missing(table, "text", "text=...")
        if self.label_separator is not None and "label" not in {**defaults, **named}:
            raise _missing(table, "label", "label=...")
        return replace(self, **{**defaults, **named})

    def used(self) -> set[str]:
        """The names of the columns that have a role."""
        return {getattr(self, role) for role in ROLES} - {None}

    def refuse(self, source: str) -> None:
        """Say that a source of fixed layout takes no options, if there are any."""
        for each in fields(self):
            if getattr(self, each.name) != each.default:
                raise UsageError(f"{source} has a fixed layout: it takes no option {each.name!r}")


def _check_separator(separator: str | None) -> None:
    if separator is None or len(separator) != 1 or separator in '"\r\n':
        remedy = (
            r'It is a single character, as in separator=";" or separator="\t", and neither a quote nor a line break.'
        )
        raise UsageError(f"the separator cannot be {separator!r}", remedy=remedy)


def _missing(table: Table, column: str, option: str) -> UsageError:
    there = ", ".join(table.columns)
    remedy = f"There are: {there}. Name the right one, as in ({option.partition('=')[0]}={table.columns[0]})."
    return UsageError(f"{table.place} has no column {column!r}", remedy=remedy)


_USUAL = {
    "text": ("text", "sentence", "sentence1", "premise", "question1", "question"),
    "text_pair": ("text_pair", "sentence2", "hypothesis", "question2"),
}
"""What public sets and rows from Python call their texts; files of your own are not guessed at."""


def guessed(columns: Columns, there: tuple[str, ...]) -> Columns:
    """The columns, with texts found by the names they usually have."""
    for role, usual in _USUAL.items():
        found = next((name for name in usual if name in there), None)
        if getattr(columns, role) is None and found:
            columns = replace(columns, **{role: found})  # type: ignore[arg-type]
    return columns
