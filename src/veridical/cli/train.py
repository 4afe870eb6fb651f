"""`veridical train`: a classifier from a data set."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from veridical.cli.options import Hold, Json, Long, Units, reading_settings


def train(
    data: Annotated[
        str, typer.Option(help="Data to train on, e.g. reviews, reviews:train[:2000], mine.csv(text=review).")
    ],
    out: Annotated[str, typer.Option(help="Folder for the trained model.")],
    model: Annotated[str, typer.Option(help="embedded, tiny, a folder or a hub id.")] = "embedded",
    dev: Annotated[
        str | None, typer.Option(help="Data to choose the best checkpoint by; default: the dev split.")
    ] = None,
    objective: Annotated[
        str, typer.Option(help="The training loss; `veridical list objectives` shows them.")
    ] = "cross-entropy",
    epochs: Annotated[float, typer.Option(help="Passes over the data.")] = 3.0,
    batch_size: Annotated[int, typer.Option(help="Examples per step.")] = 32,
    rate: Annotated[
        float | None, typer.Option(help="Learning rate of the encoder; default: 5e-5, or 1e-3 for small models.")
    ] = None,
    head_rate: Annotated[
        float | None, typer.Option(help="Learning rate of the head; default: 5e-4, or 1e-3 for small models.")
    ] = None,
    checks: Annotated[int, typer.Option(help="Looks at the dev split per epoch; each leaves a checkpoint.")] = 2,
    metric: Annotated[
        str | None, typer.Option(help="What the best checkpoint is chosen by: accuracy, macro_f1, loss, pearson.")
    ] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after so many looks without improvement.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the head, the order of examples and dropout.")] = 0,
    bf16: Annotated[bool, typer.Option("--bf16", help="Train in bfloat16.")] = False,
    report_to: Annotated[
        str, typer.Option(help="none, tensorboard, mlflow or wandb (its package must be installed).")
    ] = "none",
    units: Units = None,
    hold: Hold = None,
    long: Long = None,
    as_json: Json = False,
) -> None:
    """Train a classifier and keep its best checkpoint. Killed and started again, it goes on from the last one."""
    from veridical.cli.progress import TrainingBar
    from veridical.core.registry import check_options
    from veridical.run.training import train as job
    from veridical.training import Schedule

    said = {
        "epochs": epochs,
        "batch_size": batch_size,
        "rate": rate,
        "head_rate": head_rate,
        "checks": checks,
        "metric": metric,
        "patience": patience,
        "seed": seed,
        "bf16": bf16,
        "report_to": report_to,
    }
    schedule = Schedule(**check_options(Schedule, "train", said))
    done = job(
        data,
        out,
        model=model,
        dev=dev,
        objective=objective,
        schedule=schedule,
        settings=reading_settings(units, hold, long),
        callbacks=[TrainingBar()],
    )
    if as_json:
        typer.echo(json.dumps(asdict(done)))
        return
    console = Console(highlight=False)
    if done.was_done:
        console.print(f"{done.out} is already trained; these are its figures")
    if done.resumed_from:
        console.print(f"went on from step {done.resumed_from}")
    for split, figures in (("dev", done.dev), ("test", done.test)):
        if figures:
            console.print(f"{split:4}  " + "  ".join(f"{name} {value:.4f}" for name, value in figures.items()))
    console.print(f"saved to {done.out}")
