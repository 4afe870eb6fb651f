"""`veridical export`: a student as an ONNX graph."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from veridical.cli.common import Json, Model, Units, reading_settings
from veridical.core.model_names import check_trained


def export(
    model: Model,
    *,
    method: Annotated[str, typer.Option(help="The folder of a student.")],
    out: Annotated[str, typer.Option(help="Folder for the graph, and for what its inputs and outputs mean.")],
    units: Units = None,
    as_json: Json = False,
) -> None:
    """Write a student as an ONNX graph, together with the model if it reads its states, and check what it computes."""
    check_trained(model)

    from veridical.models import Classifier
    from veridical.run.export import export as job

    done = job(Classifier.load(model, **reading_settings(units, None, None)), method, out)
    if as_json:
        typer.echo(json.dumps(asdict(done)))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{done.out}: scores differ from ours by {done.difference:.1e} at most; a text of 32 tokens takes "
        f"{done.milliseconds:.2f} ms, and {done.our_milliseconds:.2f} ms here"
    )
