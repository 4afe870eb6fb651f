"""Which column holds what: the options of every data set that comes as a table."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from veridical.core.errors import UsageError
from veridical.data.tables import Table

ROLES = ("text", "text_pair", "label", "id", "split", "rationales")


@dataclass(frozen=True)
class Columns:
    """The columns of a table by role, and how to read them.

    A role that is not given means the column of that name if there is one; only `text` must exist. `split` has no such
    default: name the column that tells the split, or leave it out and the split is drawn with `seed`. `task` decides
    where numbers could be classes. `quotes=false` reads CSV and TSV files whose quotes are plain characters.
    """

    text: str | None = None
    text_pair: str | None = None
    label: str | None = None
    id: str | None = None
    split: str | None = None
    rationales: str | None = None
    task: Literal["auto", "classification", "regression"] = "auto"
    seed: int = 0
    quotes: bool = True

    def within(self, table: Table) -> Columns:
        """The same with the defaults filled in from the columns of a table; one that was named must be there."""
        for role in ROLES:
            named = getattr(self, role)
            if named is not None and named not in table.columns:
                raise _missing(table, named, f"{role}={named}")
        defaults = {role: role for role in ROLES if role != "split" and role in table.columns}
        given = {role: getattr(self, role) for role in ROLES if getattr(self, role) is not None}
        if "text" not in {**defaults, **given}:
            raise _missing(table, "text", "text=...")
        return replace(self, **{**defaults, **given})

    def used(self) -> set[str]:
        """The names of the columns that have a role."""
        return {getattr(self, role) for role in ROLES} - {None}

    def refuse(self, source: str) -> None:
        """Say that a source of fixed layout takes no options, if there are any."""
        for option in fields(self):
            if getattr(self, option.name) != option.default:
                raise UsageError(f"{source} has a fixed layout: it takes no option {option.name!r}")


def _missing(table: Table, column: str, option: str) -> UsageError:
    there = ", ".join(table.columns)
    remedy = f"There are: {there}. Name the right one, as in ({option.partition('=')[0]}={table.columns[0]})."
    return UsageError(f"{table.place} has no column {column!r}", remedy=remedy)
