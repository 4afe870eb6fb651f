"""`veridical gate`: an exit code for pipelines that must stop when explanations get worse."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from veridical.cli.options import Json
from veridical.core.errors import UsageError

FAILED = 8
"""The exit code when an audit does not keep a bar."""


def gate(
    folder: Annotated[str, typer.Argument(help="The folder of an audit.")],
    minima: Annotated[
        list[str] | None, typer.Option("--min", help="metric=0.30, or method:metric=0.30; may be repeated.")
    ] = None,
    maxima: Annotated[list[str] | None, typer.Option("--max", help="The same for the most that it may be.")] = None,
    as_json: Json = False,
) -> None:
    """Does an audit keep what was promised? Exit code 8 says no.

    Without a method, every audited method but random must keep the bar. Bars are in the unit that tables print.
    """
    from veridical.report.audit.gating import gate as job
    from veridical.report.audit.storing import load_audit

    if not minima and not maxima:
        raise UsageError("there is no bar to keep", remedy="Give --min metric=VALUE or --max metric=VALUE.")
    found = job(load_audit(folder), _bars("min", minima or []), _bars("max", maxima or []))
    if as_json:
        typer.echo(json.dumps([_plain(asdict(each)) for each in found]))
    else:
        console = Console(highlight=False)
        for each in found:
            console.print(each.words, style=None if each.passed else "bold red", markup=False, soft_wrap=True)
    if not all(each.passed for each in found):
        raise typer.Exit(FAILED)


def _bars(option: str, given: list[str]) -> dict[str, float]:
    bars = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            bars[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise UsageError(f"--{option} cannot be {text!r}", remedy="Write metric=0.30 or method:metric=0.30.")
    return bars


def _plain(told: dict[str, object]) -> dict[str, object]:
    return {name: None if value != value else value for name, value in told.items()}  # NaN is not equal to itself
