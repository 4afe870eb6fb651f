"""`veridical train`: a classifier from a data set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli import completion
from veridical.cli.common import Hold, Json, Long, Pooling, Seeds, Units, options_from, reading_settings, seeds_of
from veridical.core.model_names import check_new
from veridical.training import Schedule

if TYPE_CHECKING:
    from veridical.run.train import Trained


@options_from(leave_out=("seed",), schedule=Schedule)
def train(
    *,
    data: Annotated[
        str,
        typer.Option(
            help="Data to train on, e.g. reviews, reviews:train[:2000], mine.csv(text=review).",
            autocompletion=completion.names("data"),
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder for the trained model.")],
    model: Annotated[
        str, typer.Option(help="embedded, tiny, a folder or a hub id.", autocompletion=completion.new_models)
    ] = "embedded",
    dev: Annotated[
        str | None,
        typer.Option(
            help="Data to choose the best checkpoint by; default: the dev split.",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            help="The training loss; `veridical list objectives` shows them.",
            autocompletion=completion.names("objectives"),
        ),
    ] = "cross-entropy",
    schedule: Schedule,
    seed: Seeds = "0",
    units: Units = None,
    hold: Hold = None,
    long: Long = None,
    pooling: Pooling = None,
    as_json: Json = False,
) -> None:
    """Train a classifier and keep its best checkpoint. Killed and started again, it goes on from the last one."""
    from veridical.cli.names import check_objectives
    from veridical.cli.progress import shown

    check_new(model)
    check_objectives([objective])

    from veridical.run.train import train_seeds

    with shown() as watch:
        done = train_seeds(
            data,
            out,
            seeds_of(seed),
            model=model,
            dev=dev,
            objective=objective,
            schedule=schedule,
            settings=reading_settings(units, hold, long, pooling),
            watch=watch,
        )
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in done] if len(done) > 1 else asdict(done[0])))
    else:
        print_trained(Console(highlight=False), done)


def print_trained(console: Console, done: Sequence[Trained]) -> None:
    """The figures of each training, and of several their mean and spread."""
    from veridical.run.train import spread

    for each in done:
        if each.was_done:
            console.print(f"{each.out} is already trained; these are its figures", markup=False, soft_wrap=True)
        if each.resumed_from:
            console.print(f"went on from step {each.resumed_from}")
        for split, figures in (("dev", each.dev), ("test", each.test)):
            if figures:
                console.print(f"{split:4}  " + "  ".join(f"{name} {value:.4f}" for name, value in figures.items()))
        for note in each.notes:
            console.print(f"note: {note}", markup=False, soft_wrap=True)
        console.print(f"saved to {each.out}", markup=False, soft_wrap=True)
    if len(done) > 1:
        for split, runs in (("dev", [each.dev for each in done]), ("test", [each.test for each in done])):
            means = [f"{name} {each.mean:.4f} ({each.std:.4f})" for name, each in spread(runs).items()]
            if means:
                console.print(f"{split:4}  {'  '.join(means)}  mean (std) of {len(done)} seeds", soft_wrap=True)
