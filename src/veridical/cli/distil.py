"""`veridical distil`: a slow explainer made into a fast one."""

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
    options_from,
    reading_settings,
    seeds_of,
    with_preset,
)
from veridical.core.model_names import check_trained
from veridical.training import Distillation


@options_from(leave_out=("seed",), plan=Distillation)
def distil(
    context: typer.Context,
    model: Model,
    *,
    teacher: Annotated[
        list[str],
        typer.Option(
            help="A method to learn from, or a file of its explanations; several may be given.",
            autocompletion=completion.names("explainers"),
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder for the student; it is a method wherever one is named.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="Data to explain and learn from, e.g. reviews or reviews:train[:2000].",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            help="Data to choose the best checkpoint by; default: the dev split.",
            autocompletion=completion.names("data"),
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="What teachers explain: predicted or every class; by default every class for scores of a few classes.",
            autocompletion=completion.words("predicted", "every"),
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="A published setting: paper or ref_code.", autocompletion=completion.words("paper", "ref_code")
        ),
    ] = None,
    lessons: Annotated[
        str | None,
        typer.Option(help="Folder for what teachers say, which several students can share; default: OUT/lessons."),
    ] = None,
    plan: Distillation,
    seed: Seeds = "0",
    units: Units = None,
    hold: Hold = None,
    long: Long = None,
    bf16: Bf16 = False,
    tokens: Tokens = 1024,
    as_json: Json = False,
) -> None:
    """Teach a small network what a slow explainer says. Killed and started again, it goes on where it stopped."""
    from veridical.cli.names import check_methods
    from veridical.cli.progress import shown

    check_trained(model)
    plan = with_preset(plan, preset, context)
    for name in teacher:
        if not name.endswith((".parquet", ".jsonl")):
            check_methods(name)

    from veridical.masking import Engine
    from veridical.models import Classifier
    from veridical.run.distil import distil as job

    classifier = Classifier.load(model, **reading_settings(units, hold, long))
    engine = Engine(tokens=tokens, precision="bf16" if bf16 else "fp32")
    with shown() as watch:
        done = job(
            classifier,
            teacher,
            out,
            data=data,
            dev=dev,
            target=target,
            plan=plan,
            seeds=seeds_of(seed),
            lessons=lessons,
            engine=engine,
            watch=watch,
        )
    if as_json:
        typer.echo(json.dumps([asdict(each) for each in done] if len(done) > 1 else asdict(done[0])))
        return
    console = Console(highlight=False, soft_wrap=True)
    for each in done:
        before = f" (went on from step {each.resumed_from})" if each.resumed_from else ""
        before = " (it was there already)" if each.was_done else before
        figures = "  ".join(f"{name} {value:.4f}" for name, value in each.dev.items())
        console.print(f"{each.out}: learned from {each.texts} texts{before}; dev  {figures}", markup=False)
        if each.left_out:
            console.print(f"note: {each.left_out} explanations taught nothing: all their scores are 0")
        for told in each.failures:
            console.print(f"note: {told}", markup=False)
