"""`veridical show`: look at explanations, in the terminal or in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from veridical.core.values import Explanation


def show(
    files: Annotated[list[str], typer.Argument(help="Files written by `veridical explain`.")],
    top: Annotated[int, typer.Option(min=0, help="How many of the strongest words to list.")] = 5,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="How many explanations of each file to show; default: 20 in the terminal."),
    ] = None,
    html: Annotated[str | None, typer.Option(help="Write a self-contained page for a browser instead.")] = None,
    side_by_side: Annotated[
        bool,
        typer.Option(
            "--side-by-side",
            help="With --html, a table: a row for each example, a column for each method, and only the --top strongest "
            "words marked.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per explanation.")] = False,
) -> None:
    """Show explanations with their words coloured by score."""
    from veridical.core.errors import UsageError
    from veridical.core.files import read
    from veridical.report import print_explanations, write_page

    if side_by_side and not html:
        raise UsageError("a table of explanations is a page", remedy="Add --html page.html.")
    opened = [read(file) for file in files]
    most = 20 if limit is None and not html and not as_json else limit
    explanations = chain.from_iterable(islice(each, most) for each in opened)
    if html:
        title = f"Explanations: {', '.join(Path(file).name for file in files)}"
        count = write_page(explanations, html, title=title, top=top, side_by_side=side_by_side)
        typer.echo(f"{count} explanations in {Path(html).resolve()}")
    elif as_json:
        for line in _lines(explanations):
            typer.echo(line)
    else:
        print_explanations(Console(), explanations, top=top)
        if limit is None and any(next(each, None) is not None for each in opened):
            typer.echo("... and more: --limit shows others, --html page.html all")


def _lines(explanations: Iterator[Explanation]) -> Iterator[str]:
    import json

    from veridical.core.files.rows import numbers_as_json

    for each in explanations:
        margins = each.margins or (None,) * len(each.units)
        words = [
            {"field": unit.field, "text": unit.text, "span": unit.span, "score": score, "margin": margin}
            for unit, score, margin in zip(each.units, each.scores, margins, strict=True)
        ]
        row = {"example": each.example_id, "target": each.target, "method": each.source, "label": each.label}
        numbers = {name: numbers_as_json(getattr(each, name)) for name in ("probabilities", "measures")}
        yield json.dumps({**row, **numbers, "units": words})
