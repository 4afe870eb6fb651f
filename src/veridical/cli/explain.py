"""`veridical explain`: explanations of a whole data set, to a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli import completion
from veridical.cli.common import Bf16, Hold, Json, Long, Model, Tokens, Units, reading_settings
from veridical.cli.failures import end_with_failures
from veridical.core.model_names import check_trained

if TYPE_CHECKING:
    from veridical.run.explain import Explained


def explain(
    model: Model,
    data: Annotated[
        str,
        typer.Option(
            help="Data to explain, e.g. reviews:test[:100] or mine.csv(text=review).",
            autocompletion=completion.names("data"),
        ),
    ],
    out: Annotated[
        str, typer.Option(help="File to write: .parquet or .jsonl. What it holds already is not done again.")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="How; `veridical list explainers` shows all, with options and presets.",
            autocompletion=completion.names("explainers"),
        ),
    ] = "integrated-gradients",
    target: Annotated[
        str,
        typer.Option(
            help="The class to explain: predicted, gold, a label, or every class by itself.",
            autocompletion=completion.words("predicted", "gold", "every"),
        ),
    ] = "predicted",
    units: Units = None,
    hold: Hold = None,
    long: Long = None,
    bf16: Bf16 = False,
    tokens: Tokens = 1024,
    as_json: Json = False,
) -> None:
    """Explain the decisions on a data set. Killed and started again, it goes on where it stopped."""
    from veridical.cli.names import check_methods
    from veridical.cli.progress import shown
    from veridical.data import load

    check_trained(model)
    check_methods(method)
    examples = load(data)

    from veridical.explainers import EXPLAINERS
    from veridical.masking import Engine
    from veridical.models import Classifier
    from veridical.run.explain import explain_to_file

    explainer = EXPLAINERS.create(method)
    classifier = Classifier.load(model, **reading_settings(units, hold, long))
    engine = Engine(tokens=tokens, precision="bf16" if bf16 else "fp32")
    with shown() as watch:
        done = explain_to_file(classifier, examples, explainer, out, target=target, engine=engine, watch=watch)
    _report(done, out, as_json)
    end_with_failures("not explained", [str(each.error) for each in done.failures])


def _report(done: Explained, out: str, as_json: bool) -> None:
    queries, forwards = done.cost.queries, done.cost.forwards
    if as_json:
        failures = [{"example": each.example_id, "error": str(each.error)} for each in done.failures]
        counts = {"written": done.written, "resumed": done.resumed, "queries": queries, "forwards": forwards}
        typer.echo(json.dumps({"out": out, **counts, "truncated": list(done.truncated), "failures": failures}))
        return
    console = Console(highlight=False, soft_wrap=True)
    before = f" ({done.resumed} examples were there already)" if done.resumed else ""
    console.print(
        f"{done.written} explanations written to {out}{before}; {queries} queries, {forwards} model inputs run"
    )
    if done.truncated:
        named = ", ".join(done.truncated[:5]) + (", ..." if len(done.truncated) > 5 else "")
        console.print(
            f"note: {len(done.truncated)} texts were cut at the model's limit ({named}); --long window reads all"
        )
