"""`veridical list`: what there is, from the registries themselves."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from veridical.cli.options import Json

_SHORT = 60


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


def inventory(
    what: Annotated[What, typer.Argument(help="Which table.")] = What.all,
    as_json: Json = False,
) -> None:
    """List explainers, metrics and their sets, data, models, erasers, objectives and saliences, with what they need."""
    from veridical.run.inventory import TABLES

    chosen = list(TABLES) if what is What.all else [what.value]
    tables = {name: TABLES[name]() for name in chosen}
    if as_json:
        typer.echo(json.dumps(tables))
        return
    console = Console(highlight=False, soft_wrap=False)
    for name, rows in tables.items():
        console.print(f"\n{name}", style="bold underline")
        for row in rows:
            _print_row(console, row)


def _print_row(console: Console, row: dict[str, str]) -> None:
    """The name, what it is, and the rest below, short things on one line: a table would not fit a terminal."""
    name, summary, *rest = row.items()
    console.print(Padding(Text.assemble((name[1], "bold cyan"), "  ", summary[1]), (0, 0, 0, 2)))
    details = [f"{key}: {value}" for key, value in rest if value != "-"]
    short = "  ".join(each for each in details if len(each) <= _SHORT)
    for line in (short, *(each for each in details if len(each) > _SHORT)):
        if line:
            console.print(Padding(Text(line, style="dim"), (0, 0, 0, 6)))
