"""`veridical show`: look at explanations, in the terminal or in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from veridical.core.values import Explanation


def show(
    file: Annotated[str, typer.Argument(help="A file written by `veridical explain`.")],
    top: Annotated[int, typer.Option(min=0, help="How many of the strongest words to list.")] = 5,
    limit: Annotated[
        int | None, typer.Option(min=1, help="How many explanations to show; default: 20 in the terminal.")
    ] = None,
    html: Annotated[str | None, typer.Option(help="Write a self-contained page for a browser instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per explanation.")] = False,
) -> None:
    """Show explanations with their words coloured by score."""
    from veridical.core.files import read
    from veridical.report import print_explanations, write_page

    explanations = read(file)
    if html:
        count = write_page(islice(explanations, limit), html, title=f"Explanations: {Path(file).name}", top=top)
        typer.echo(f"{count} explanations in {Path(html).resolve()}")
    elif as_json:
        for line in _lines(islice(explanations, limit)):
            typer.echo(line)
    else:
        print_explanations(Console(), islice(explanations, 20 if limit is None else limit), top=top)
        if limit is None and next(explanations, None) is not None:
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
