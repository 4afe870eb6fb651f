"""`veridical compare`: two audited models, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from veridical.cli import completion
from veridical.cli.common import Json
from veridical.cli.tables import print_table

if TYPE_CHECKING:
    from veridical.audits.statistics.findings import Comparison


def compare(
    first: Annotated[str, typer.Argument(help="The folder of an audit.", autocompletion=completion.audit_folders)],
    second: Annotated[
        str,
        typer.Argument(
            help="The folder of another model's audit on the same data.", autocompletion=completion.audit_folders
        ),
    ],
    out: Annotated[str | None, typer.Option(help="File to write: .html, .md or .json.")] = None,
    as_json: Json = False,
) -> None:
    """Which of two models has the better reasons? Document by document, with tests; "cannot tell" is an answer."""
    from veridical.audits.card import check_ending, compare_folders, write_comparison_to
    from veridical.audits.statistics.findings import plain

    if out:
        check_ending(out)
    found = compare_folders(first, second)
    if out:
        write_comparison_to(found, out)
    if as_json:
        typer.echo(json.dumps(plain(found)))
        return
    console = Console(highlight=False)
    for sentence in found.verdict:
        console.print(Text(sentence))
    if found.differences:
        console.print()
        _print_table(console, found)
    for warning in found.warnings:
        console.print(Text.assemble(("warning: ", "yellow"), warning))
    for why, names in _reasons(found.left_out).items():
        console.print(Text.assemble(("left out: ", "yellow"), f"{', '.join(names)}: {why}"))
    if out:
        console.print(f"written to {Path(out).resolve()}", soft_wrap=True)


def _reasons(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    """What was left out, by why."""
    found: dict[str, list[str]] = {}
    for name, why in left_out.items():
        found.setdefault(why, []).append(name)
    return found


def _print_table(console: Console, found: Comparison) -> None:
    """A line per metric, and its methods below: side by side, the long names of both would not fit a terminal."""
    from veridical.audits.numbers import number, probability

    audited_metrics = {audited.name: audited for audited in found.metrics}
    rows: list[list[str | Text]] = []
    for metric, differences in groupby(found.differences, key=lambda each: each.metric):
        rows.append([Text(metric, "cyan")])
        for each in differences:
            means = [number(mean, audited_metrics[metric]) for mean in (each.first.mean, each.second.mean)]
            p = probability(each.contrast.adjusted).removeprefix("p ").removeprefix("= ")
            rows.append([f"  {each.method}", *means, p, each.contrast.verdict])
    print_table(console, ["metric and method", "first", "second", "corrected p", "verdict"], rows, numbers=(1, 2))
