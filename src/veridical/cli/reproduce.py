"""`veridical reproduce`: a published study, in a size that fits this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown

from veridical.cli.options import Json

if TYPE_CHECKING:
    from veridical.studies.results import Results


def reproduce(
    paper: Annotated[str, typer.Argument(help="saloss or regex.")],
    preset: Annotated[
        str,
        typer.Option(
            help="The size: smoke (a minute or two), cpu (hours on two cores), full (all data, BERT; for a GPU)."
        ),
    ] = "cpu",
    out: Annotated[str | None, typer.Option(help="Folder for models and audits; default: runs/PAPER-PRESET.")] = None,
    results: Annotated[str | None, typer.Option(help="Folder for the tables; default: the same.")] = None,
    as_json: Json = False,
) -> None:
    """Do a study again: train, audit and compare as a paper did, and print our table beside the published figures.

    Killed and started again, it goes on where it stopped. The tables are written after each data set.
    """
    from veridical.audits.store import write_whole
    from veridical.cli.progress import TrainingBar, telling
    from veridical.core.component import unknown
    from veridical.studies import STUDIES
    from veridical.studies.reproduction import reproduce as job
    from veridical.studies.results import as_json as data_of
    from veridical.studies.results import markdown

    if paper not in STUDIES:
        raise unknown("paper", paper, STUDIES)
    folder = Path(out or f"runs/{paper}-{preset}")
    goal = Path(results or folder)

    def write(found: Results) -> None:
        write_whole(goal / f"{paper}-{preset}.md", markdown(found))
        write_whole(goal / f"{paper}-{preset}.json", json.dumps(data_of(found), indent=1, ensure_ascii=False) + "\n")

    with telling() as tell, TrainingBar() as training:
        found = job(STUDIES[paper], preset, folder, progress=tell, finished=write, callbacks=[training])
    if as_json:
        typer.echo(json.dumps(data_of(found)))
        return
    console = Console(highlight=False)
    console.print(Markdown(markdown(found)))
    console.print(f"written to {(goal / f'{paper}-{preset}.md').resolve()}", soft_wrap=True)
