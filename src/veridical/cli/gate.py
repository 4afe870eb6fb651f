"""`veridical gate`: an exit code for pipelines that must stop when explanations get worse."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from veridical.cli import completion
from veridical.cli.common import Json
from veridical.core.errors import UsageError

if TYPE_CHECKING:
    from veridical.audits import Audit
    from veridical.audits.statistics.gate import Gate

FAILED = 8
"""The exit code when an audit does not keep a bar."""


def gate(
    folder: Annotated[str, typer.Argument(help="The folder of an audit.", autocompletion=completion.audit_folders)],
    minima: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            help="metric=0.30, or method:metric=0.30; may be repeated.",
            autocompletion=completion.names("metrics"),
        ),
    ] = None,
    maxima: Annotated[
        list[str] | None,
        typer.Option("--max", help="The same for the most that it may be.", autocompletion=completion.names("metrics")),
    ] = None,
    as_json: Json = False,
) -> None:
    """Does an audit keep what was promised? Exit code 8 says no.

    Without a method, every audited method but random must keep the bar. Bars are in the unit that tables print.
    """
    from veridical.audits.statistics.gate import gate as job
    from veridical.audits.store import load_audit

    if not minima and not maxima:
        raise UsageError("there is no bar to keep", remedy="Give --min metric=VALUE or --max metric=VALUE.")
    least, most = _bars("min", minima or []), _bars("max", maxima or [])
    audit = load_audit(folder)
    found = job(audit, least, most)
    for note in _fractions(audit, found):
        Console(stderr=True, highlight=False).print(Text.assemble(("warning: ", "yellow"), note), soft_wrap=True)
    if as_json:
        typer.echo(json.dumps([_plain(asdict(each)) for each in found]))
    else:
        console = Console(highlight=False)
        for each in found:
            console.print(each.words, style=None if each.passed else "bold red", markup=False, soft_wrap=True)
    if not all(each.passed for each in found):
        raise typer.Exit(FAILED)


def _bars(option: str, given: list[str]) -> dict[str, float]:
    bars: dict[str, float] = {}
    for text in given:
        name, bar = _bar(option, text)
        if name in bars:
            raise UsageError(f"--{option} is given twice for {name}", remedy="Keep the one that is meant.")
        bars[name] = bar
    return bars


def _bar(option: str, text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        bar = float(value)
    except ValueError:
        bar = math.nan
    if not name.strip() or not math.isfinite(bar):
        raise UsageError(f"--{option} cannot be {text!r}", remedy="Write metric=0.30 or method:metric=0.30.")
    return name.strip(), bar


def _fractions(audit: Audit, found: list[Gate]) -> Iterator[str]:
    """Bars that look like shares of 1, for metrics that are printed as shares of 100."""
    bars = dict.fromkeys((each.metric, each.bar) for each in found)
    for metric, bar in bars:
        if audit.metric(metric).percent and 0 < bar <= 1:
            yield f"{metric} is printed times 100, and so is its bar: {bar:g} means {bar:g} of 100."


def _plain(told: dict[str, object]) -> dict[str, object]:
    return {name: None if value != value else value for name, value in told.items()}  # NaN is not equal to itself
