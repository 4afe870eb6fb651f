"""`veridical fresh`: a classifier that sees nothing but rationales."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli import completion
from veridical.cli.common import Json, Model, Seeds, options_from, seeds_of
from veridical.cli.failures import end_with_failures
from veridical.cli.train import print_trained
from veridical.core.errors import UsageError
from veridical.core.extraction import Extraction
from veridical.core.folders import RUN_FILE
from veridical.core.model_names import check_new, check_trained
from veridical.training import Schedule

if TYPE_CHECKING:
    from veridical.run.fresh import Fresh


@options_from(
    leave_out=("seed",), offers={"method": completion.names("explainers")}, extraction=Extraction, schedule=Schedule
)
def fresh(
    *,
    support: Model,
    out: Annotated[str, typer.Option(help="Folder for the rationales and the new classifier.")],
    extraction: Extraction,
    data: Annotated[
        str | None,
        typer.Option(help="Data; default: what the model was trained on.", autocompletion=completion.names("data")),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Data to choose the best checkpoint by; default: as for the model.",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="What to start from; default: what the model started from.", autocompletion=completion.new_models
        ),
    ] = None,
    elsewhere: Annotated[
        list[str] | None,
        typer.Option(
            help="Other data to test on, as it is or with its own ratio: imdb:test@0.1; may be repeated.",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    schedule: Schedule,
    seed: Seeds = "0",
    as_json: Json = False,
) -> None:
    """Select, then predict: cut texts down to rationales, and train a classifier that sees nothing else.

    Its reasons are then faithful by construction, and its accuracy says how good the rationales are. Killed and started
    again, it goes on where it stopped.
    """
    from veridical.cli.names import check_methods
    from veridical.cli.progress import shown

    check_trained(support)
    check_methods(extraction.method)
    if model is not None:
        check_new(model)

    from veridical.run.fresh import fresh as job

    with shown() as watch:
        found = job(
            support,
            out,
            extraction,
            data=data,
            dev=dev,
            model=model,
            elsewhere=dict(_place(each, extraction.ratio) for each in elsewhere or []),
            seeds=seeds_of(seed),
            schedule=schedule,
            watch=watch,
        )
    if as_json:
        typer.echo(json.dumps(_plain(found)))
    else:
        _print(Console(highlight=False), found)
    end_with_failures("left out", [str(each.error) for each in found.left_out], all_in=str(Path(out) / RUN_FILE))


def _place(text: str, ratio: float) -> tuple[str, float]:
    """`imdb:test@0.1` is data and its own ratio."""
    name, mark, own = text.rpartition("@")
    if not mark or "]" in own:  # the mark of a drawn subset, reviews:test[100@3]
        return text, ratio
    try:
        return name, float(own)
    except ValueError:
        raise UsageError(f"--elsewhere cannot be {text!r}", remedy="Write imdb:test or imdb:test@0.1.") from None


def _print(console: Console, found: Fresh) -> None:
    from veridical.run.train import spread

    print_trained(console, found.trained)
    if found.whole:
        figures = "  ".join(f"{name} {value:.4f}" for name, value in found.whole.items())
        console.print(f"the model itself, on whole texts: {figures}", soft_wrap=True)
    for name, runs in found.elsewhere.items():
        figures = "  ".join(f"{each} {value.mean:.4f} ({value.std:.4f})" for each, value in spread(runs).items())
        console.print(f"{name}: {figures}", soft_wrap=True)


def _plain(found: Fresh) -> dict[str, object]:
    return {
        "trained": [asdict(each) for each in found.trained],
        "whole": found.whole,
        "elsewhere": found.elsewhere,
        "left_out": [{"example": each.example_id, "error": str(each.error)} for each in found.left_out],
    }
