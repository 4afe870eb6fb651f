"""`veridical predict`: what a classifier says of some texts."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli import completion
from veridical.cli.common import Bf16, Json, Long, Model, reading_settings
from veridical.cli.failures import end_with_failures
from veridical.core.errors import UsageError
from veridical.core.model_names import check_trained

if TYPE_CHECKING:
    from veridical.core.values import Example
    from veridical.run.predict import Prediction


def predict(
    model: Model,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to classify.")] = None,
    pair: Annotated[str | None, typer.Option(help="The second text, for a model of pairs.")] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Data to classify instead, e.g. reviews:test[:100].", autocompletion=completion.names("data")
        ),
    ] = None,
    long: Long = None,
    bf16: Bf16 = False,
    as_json: Json = False,
) -> None:
    """Classify texts, or a data set, one line each."""
    from veridical.cli.progress import shown

    check_trained(model)
    if bool(texts) == bool(data):
        raise UsageError("give texts, or --data", remedy='veridical predict runs/base "A text."')
    examples = _examples(texts or [], pair, data)

    from veridical.masking import Engine
    from veridical.models import Classifier
    from veridical.run.job import Failure
    from veridical.run.predict import predict_each

    classifier = Classifier.load(model, **reading_settings(None, None, long))
    failed = []
    with shown(is_printing=True) as watch:
        for result in predict_each(classifier, examples, Engine(precision="bf16" if bf16 else "fp32"), watch=watch):
            if isinstance(result, Failure):
                failed.append(str(result.error))
            elif as_json:
                typer.echo(json.dumps(asdict(result)))
            else:
                _print(result, result.example_id if data else (texts or [])[int(result.example_id)])
    end_with_failures("not predicted", failed)


def _examples(texts: list[str], pair: str | None, data: str | None) -> list[Example]:
    from veridical.core.values import Example
    from veridical.data import load

    if data:
        return list(load(data))
    return [Example.of((text, pair) if pair else text, str(i)) for i, text in enumerate(texts)]


def _print(prediction: Prediction, name: str) -> None:
    Console(highlight=False, markup=False, soft_wrap=True).print(f"{_answer(prediction)}  {name}")
    if prediction.truncated_units:
        note = f"note: example {prediction.example_id}: {prediction.truncated_units} words were not read"
        Console(stderr=True, highlight=False).print(note)


def _answer(prediction: Prediction) -> str:
    """The number of a regression, or the labels that are chosen and how likely all of them are."""
    if prediction.value is not None:
        return f"{prediction.value:.4f}"
    chances = sorted(prediction.probabilities.items(), key=lambda pair: -pair[1])
    figures = "  ".join(f"{label} {chance:.3f}" for label, chance in chances)
    return f"{', '.join(prediction.labels) or 'no label'}  ({figures})"
