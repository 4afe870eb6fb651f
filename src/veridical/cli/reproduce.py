"""`veridical reproduce`: a published study, in a size that fits this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from veridical.cli import completion
from veridical.cli.common import Json
from veridical.core.study_names import STUDY_SIZES, sizes_told


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"{', '.join(STUDY_SIZES)}.", autocompletion=completion.papers)],
    preset: Annotated[
        str,
        typer.Option(
            help="The size: smoke (a minute or two), cpu (one data set, hours on two cores), cpu-NAME (a part of it or "
            f"other data), full (all data, BERT; for a GPU). {sizes_told()}.",
            autocompletion=completion.sizes,
        ),
    ] = "cpu",
    out: Annotated[str | None, typer.Option(help="Folder for models and audits; default: runs/PAPER-PRESET.")] = None,
    results: Annotated[str | None, typer.Option(help="Folder for the tables; default: the same.")] = None,
    as_json: Json = False,
) -> None:
    """Do a study again: train, audit and compare as a paper did, and print our table beside the published figures.

    Killed and started again, it goes on where it stopped. The tables are written after each training, and beside them
    a file with every number: with it in the folder of the tables, a study goes on where its models are not.
    """
    from veridical.cli.progress import shown
    from veridical.studies.reproduction import reproduce as job
    from veridical.studies.tables import as_json as data_of
    from veridical.studies.tables import in_short, table_file

    folder = out or f"runs/{paper}-{preset}"
    with shown() as watch:
        found = job(paper, preset, folder, tables=results, watch=watch)
    if as_json:
        typer.echo(json.dumps(data_of(found)))
        return
    console = Console(highlight=False)
    console.print(in_short(found), markup=False, soft_wrap=True)
    console.print(f"\nThe tables are in {table_file(found, results or folder).resolve()}", markup=False, soft_wrap=True)
