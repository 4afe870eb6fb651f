"""`veridical list`: what there is, from the registries themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from veridical.cli import completion
from veridical.cli.common import Json
from veridical.cli.tables import print_table
from veridical.core.errors import UsageError

if TYPE_CHECKING:
    from veridical.run.catalogue import InventoryRow

_SHORT = 60
_ALONE = ("more", "options", "presets")
"""What is shown of one thing alone."""

_Rows = tuple[Sequence[str], Sequence[Sequence["str | Text"]]]
"""Headings, and the cells below them."""


class What(StrEnum):
    """The tables that can be listed."""

    explainers = "explainers"
    metrics = "metrics"
    metric_sets = "metric-sets"
    data = "data"
    models = "models"
    erasers = "erasers"
    objectives = "objectives"
    saliences = "saliences"
    all = "all"


def _names_of_table(context: typer.Context, incomplete: str) -> list[str]:
    """Completes the names of the table that stands before."""
    return completion.names(str(context.params["what"]))(incomplete)


def inventory(
    what: Annotated[What, typer.Argument(help="Which table.")] = What.all,
    name: Annotated[
        str | None,
        typer.Argument(help="One of its names, to see that one with all options.", autocompletion=_names_of_table),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="With explainers: the folder of a model, to see those learned with it.",
            autocompletion=completion.trained_models,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List explainers, metrics and their sets, data, models, erasers, objectives and saliences, with what they need."""
    from veridical.run.catalogue import find_row

    tables = _tables(what, model)
    if name is not None:
        if what is What.all:
            problem = f"it is not said which table has {name!r}"
            raise UsageError(problem, remedy=f"Write for example: veridical list explainers {name}")
        tables = {table: [find_row(table, rows, name)] for table, rows in tables.items()}
    if as_json:
        typer.echo(json.dumps(tables))
        return
    console = Console(highlight=False, soft_wrap=False)
    for table, rows in tables.items():
        if name is not None:
            _print_alone(console, rows[0])
        else:
            _print_table(console, table if model is None else f"{table} of {model}", rows)
    if name is None:
        console.print(Text("\nWith a name, as in `veridical list explainers lime`: one with all its options.", "dim"))


def _tables(what: What, model: str | None) -> dict[str, list[InventoryRow]]:
    from veridical.run.catalogue import TABLES, rows

    if model is None:
        return {table: rows(table) for table in (TABLES if what is What.all else [what.value])}
    if what is not What.explainers:
        raise UsageError("--model is for explainers only", remedy=f"Write: veridical list explainers --model {model}")
    from veridical.run.inventory import learned

    return {what.value: learned(model)}


def _print_table(console: Console, heading: str, rows: list[InventoryRow]) -> None:
    console.print(Text(f"\n{heading}", "bold underline"))
    for row in rows:
        _print_row(console, row)
    if not rows:
        console.print("  none")


def _print_row(console: Console, row: InventoryRow) -> None:
    """The name, what it is, and the rest below, short things on one line: a table would not fit a terminal."""
    _print_name(console, row)
    facts = _facts(row)
    if names := ", ".join(row.get("presets", ())):
        facts.append(f"presets: {names}")
    short = "  ".join(each for each in facts if len(each) <= _SHORT)
    for line in (short, *(each for each in facts if len(each) > _SHORT)):
        if line:
            _print(console, Text(line, style="dim"), 6)


def _print_alone(console: Console, row: InventoryRow) -> None:
    """One thing with all that is known of it."""
    _print_name(console, row)
    for paragraph in (row.get("more", ""), "\n".join(_facts(row))):
        if paragraph:
            console.print()
            _print(console, Text(paragraph), 6)
    for headings, rows in (_options(row.get("options", [])), _presets(row)):
        if rows:
            console.print()
            print_table(console, headings, rows, indent=6)


def _print_name(console: Console, row: InventoryRow) -> None:
    name, summary = list(row.values())[:2]
    _print(console, Text.assemble((name, "bold cyan"), "  ", summary), 2)


def _facts(row: InventoryRow) -> list[str]:
    """The columns after the first two, each with its heading."""
    return [f"{key}: {value}" for key, value in list(row.items())[2:] if key not in _ALONE and value != "-"]


def _options(options: list[dict[str, Any]]) -> _Rows:
    from veridical.run.catalogue import written_default

    rows = [[Text(each["name"], "cyan"), written_default(each), each["takes"], each["help"]] for each in options]
    return ["option", "default", "takes", "what it does"], rows


def _presets(row: InventoryRow) -> _Rows:
    from veridical.run.catalogue import written_value

    rows: list[Sequence[str | Text]] = []
    for preset, chosen in row.get("presets", {}).items():
        options = ", ".join(f"{key}={written_value(value)}" for key, value in chosen.items()) or "the defaults"
        rows.append([Text(f"{row['name']}(preset={preset})", "cyan"), options])
    return ["preset", "options"], rows


def _print(console: Console, what: Text, indent: int) -> None:
    console.print(Padding(what, (0, 0, 0, indent), expand=False))
