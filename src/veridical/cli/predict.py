"""`veridical predict`: what a classifier says of some texts."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli.common import PARTIAL, Bf16, Json, Long, Model, reading_settings

if TYPE_CHECKING:
    from veridical.run.predict import Prediction


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
    from veridical.core.values import Example
    from veridical.data import load
    from veridical.masking import Engine
    from veridical.models import Classifier
    from veridical.run.job import Failure
    from veridical.run.predict import predict_each

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
    failed = False
    for result in predict_each(classifier, examples, Engine(precision="bf16" if bf16 else "fp32")):
        if isinstance(result, Failure):
            failed = True
            warn.print(f"not predicted: {result.error}", markup=False)
        elif as_json:
            typer.echo(json.dumps(asdict(result)))
        else:
            name = result.example_id if data else given[int(result.example_id)]
            console.print(f"{_answer(result)}  {name}", markup=False)
            if result.truncated_units:
                warn.print(f"note: example {result.example_id}: {result.truncated_units} words were not read")
    if failed:
        raise typer.Exit(PARTIAL)


def _answer(prediction: Prediction) -> str:
    """The number of a regression, or the labels that are chosen and how likely all of them are."""
    if prediction.value is not None:
        return f"{prediction.value:.4f}"
    chances = sorted(prediction.probabilities.items(), key=lambda pair: -pair[1])
    figures = "  ".join(f"{label} {chance:.3f}" for label, chance in chances)
    return f"{', '.join(prediction.labels) or 'no label'}  ({figures})"
