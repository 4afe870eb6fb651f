"""`veridical check`: can a model's scores be trusted, and which methods work with it?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from veridical.cli import completion
from veridical.cli.common import Hold, Json, Long, Model, Units, reading_settings
from veridical.cli.tables import print_table
from veridical.core.errors import ModelError
from veridical.core.model_names import check_trained

if TYPE_CHECKING:
    from veridical.run.check import Checkup
    from veridical.run.checks.finding import Finding

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "bold red", "not possible": "dim"}
_VERDICTS = {
    "ok": "works:",
    "warning": "works, but",
    "problem": "does not work:",
    "not possible": "not with this model:",
}

_SAME = "same in a batch: how far scores alone and among others are apart, as a part of the largest"


def check(
    model: Model,
    data: Annotated[
        str | None,
        typer.Option(
            help="Data to check with, e.g. reviews:test[:20]; default: 8 texts of the model's own data.",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method to try out, or the folder of one that was learned; several may be given. Default: every "
            "method that has a name.",
            autocompletion=completion.names("explainers"),
        ),
    ] = None,
    units: Units = None,
    hold: Hold = None,
    long: Long = None,
    as_json: Json = False,
) -> None:
    """Test a model: can its scores be repeated, do they add up, does the eraser matter, which methods work?

    Exit code 6 says that there is a problem, so that a script can stop; warnings end with 0.
    """
    from veridical.cli.names import check_methods
    from veridical.cli.progress import shown
    from veridical.data import load

    check_trained(model)
    for name in method or ():
        check_methods(name)
    examples = load(data) if data else None

    from veridical.models import Classifier
    from veridical.run.check import check as job

    classifier = Classifier.load(model, **reading_settings(units, hold, long))
    with shown() as watch:
        done = job(classifier, examples, methods=method, watch=watch)
    if as_json:
        typer.echo(json.dumps({"model": model, **asdict(done)}))
    else:
        _print(Console(highlight=False), model, done)
    if done.problems:
        raise typer.Exit(ModelError.exit_code)


def _print(console: Console, model: str, done: Checkup) -> None:
    console.print(Text(f"{model}, checked with {done.used}"), soft_wrap=True)
    console.print()
    _print_measurements(console, done.checks)
    if notes := [found for found in done.checks if found.verdict != "ok"]:
        console.print("\nwhat to know", style="bold underline")
        console.print(_notes(notes))
    console.print("\nmethods", style="bold underline")
    console.print(Padding(Text(_SAME, "dim"), (0, 0, 0, 2)))
    _print_methods(console, done.methods)
    console.print()
    console.print(_summary(done))


def _print_measurements(console: Console, checks: Sequence[Finding]) -> None:
    rows: list[list[str | Text]] = [
        [
            Text(found.name, "cyan"),
            Text(found.verdict, _COLOURS[found.verdict]),
            found.measured or "-",
            found.allowed or "-",
        ]
        for found in checks
    ]
    print_table(console, ["check", "verdict", "measured", "limit"], rows)


def _notes(findings: Sequence[Finding]) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    for found in findings:
        table.add_row("  -", Text.assemble((found.name, "cyan"), f": {found.words}"))
    return table


def _print_methods(console: Console, methods: Sequence[Finding]) -> None:
    rows = [
        [
            Text(found.name, "cyan"),
            Text.assemble((_VERDICTS[found.verdict], _COLOURS[found.verdict]), f" {found.words}"),
        ]
        for found in methods
    ]
    print_table(console, ["", ""], rows, indent=2)


def _summary(done: Checkup) -> Text:
    if done.problems:
        names = ", ".join(found.name for found in done.problems)
        return Text(f"{_count(len(done.problems), 'problem')}: {names}", "bold red")
    warnings = sum(found.verdict == "warning" for found in done.checks)
    able = sum(found.verdict != "not possible" for found in done.methods)
    return Text(
        f"no problems, {_count(warnings, 'warning')}; {able} of {len(done.methods)} methods work with this model"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
