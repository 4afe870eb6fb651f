"""`veridical scaffold`: the explainer that teaches students of a model best."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from veridical.cli import completion
from veridical.cli.common import (
    Bf16,
    Hold,
    Json,
    Long,
    Model,
    Seeds,
    Tokens,
    Units,
    numbers_of,
    options_from,
    reading_settings,
    seeds_of,
    with_preset,
)
from veridical.core.errors import UsageError
from veridical.core.model_names import check_trained
from veridical.simulation import ScaffoldPlan


@options_from(leave_out=("seed",), plan=ScaffoldPlan)
def scaffold(
    context: typer.Context,
    model: Model,
    *,
    data: Annotated[
        str,
        typer.Option(
            help="Data that students learn to simulate the model on, e.g. imdb; it needs no labels.",
            autocompletion=completion.names("data"),
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder for the explainer; it is a method wherever one is named.")],
    students: Annotated[
        str, typer.Option(help="From how many examples a student learns; 500,1000,2000 learns an explainer for each.")
    ] = "1000",
    dev: Annotated[
        str | None,
        typer.Option(
            help="Data by one half of which the explainer learns, and by the other stops; default: the dev split.",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            help="Data that students are tested on; default: the test split, if there is one.",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help=f"A published setting: {', '.join(ScaffoldPlan.presets)}.",
            autocompletion=completion.words(*ScaffoldPlan.presets),
        ),
    ] = None,
    plan: ScaffoldPlan,
    seed: Seeds = "0",
    units: Units = None,
    hold: Hold = None,
    long: Long = None,
    bf16: Bf16 = False,
    tokens: Tokens = 1024,
    as_json: Json = False,
) -> None:
    """Learn which attention heads or gradients explain a model best: students that are taught by them simulate it.

    Killed and started again, it goes on where it stopped.
    """
    from veridical.cli.progress import shown

    check_trained(model)
    plan = with_preset(plan, preset, context)
    sizes = numbers_of("students", students, "500,1000,2000")
    if min(sizes) < 1:
        raise UsageError(f"--students cannot be {students!r}", remedy="A student needs at least one example.")

    from veridical.masking import Engine
    from veridical.models import Classifier
    from veridical.run.scaffold import scaffold as job

    classifier = Classifier.load(model, **reading_settings(units, hold, long))
    with shown() as watch:
        done = job(
            classifier,
            out,
            data=data,
            dev=dev,
            test=test,
            students=sizes,
            seeds=seeds_of(seed),
            plan=plan,
            engine=Engine(tokens=tokens, precision="bf16" if bf16 else "fp32"),
            watch=watch,
        )
    if as_json:
        typer.echo(json.dumps(asdict(done)))
        return
    console = Console(highlight=False, soft_wrap=True)
    for each in done.taught:
        tested = "" if each.test is None else f"  test {each.test:.4f}"
        console.print(
            f"{each.out}: simulability of the student taught with it, dev {each.dev:.4f}{tested}; "
            f"{each.in_use} sources in use, {each.passes} passes, {each.cost:.1f} times the time of the student alone",
            markup=False,
        )
    again = " (it was there already)" if done.was_done else ""
    console.print(f"{done.out} holds the explainer of {done.chosen}{again}", markup=False)
