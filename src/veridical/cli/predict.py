"""`veridical predict`: what a classifier says of some texts."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from veridical.cli.options import Bf16, Json, Long, Model, reading_settings


def predict(
    model: Model,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to classify.")] = None,
    pair: Annotated[str | None, typer.Option(help="The second text, for a model of pairs.")] = None,
    data: Annotated[str | None, typer.Option(help="Data to classify instead, e.g. reviews:test[:100].")] = None,
    long: Long = None,
    bf16: Bf16 = False,
    as_json: Json = False,
) -> None:
    """Classify texts, or a data set, one line each."""
    from veridical.core.errors import UsageError
    from veridical.core.example import Example
    from veridical.data import load
    from veridical.masking import Engine
    from veridical.models import Classifier
    from veridical.run.predicting import predict as job

    if bool(texts) == bool(data):
        raise UsageError("give texts, or --data", remedy='veridical predict runs/base "A text."')
    given = texts or []
    examples = (
        list(load(data))
        if data
        else [Example.of((text, pair) if pair else text, str(i)) for i, text in enumerate(given)]
    )
    classifier = Classifier.load(model, **reading_settings(None, None, long))
    console, warn = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False)
    for prediction in job(classifier, examples, Engine(precision="bf16" if bf16 else "fp32")):
        if as_json:
            typer.echo(json.dumps(asdict(prediction)))
            continue
        chances = sorted(prediction.probabilities.items(), key=lambda each: -each[1])
        figures = "  ".join(f"{label} {chance:.3f}" for label, chance in chances) or f"{prediction.value:.4f}"
        name = prediction.example_id if data else given[int(prediction.example_id)]
        console.print(f"{prediction.label}  ({figures})  {name}", markup=False)
        if prediction.truncated_units:
            warn.print(f"note: example {prediction.example_id}: {prediction.truncated_units} words were not read")
