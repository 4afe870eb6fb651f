"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

PARTIAL = 7
"""The exit code of a job that is done but for some examples."""

Model = Annotated[str, typer.Argument(help="A folder written by `veridical train`, or a Hugging Face hub id.")]
Units = Annotated[str | None, typer.Option(help="What gets a score: word or token (word pieces).")]
Hold = Annotated[str | None, typer.Option(help="A field that is context only, never scored or erased: text_pair.")]
Long = Annotated[
    str | None, typer.Option(help="Texts beyond the model's limit: truncate (and say so), or window (read it all).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Bf16 = Annotated[bool, typer.Option("--bf16", help="Run the model in bfloat16: faster where the processor has it.")]


def reading_settings(units: str | None, hold: str | None, long: str | None) -> dict[str, Any]:
    """How texts are read, as far as it was said."""
    from veridical.core.errors import UsageError

    said = {"units": units, "hold": hold, "long": long}
    allowed = {"units": ("word", "token"), "hold": ("text", "text_pair"), "long": ("truncate", "window")}
    for name, value in said.items():
        if value is not None and value not in allowed[name]:
            raise UsageError(f"--{name} cannot be {value!r}", remedy=f"It is one of: {', '.join(allowed[name])}.")
    return {name: value for name, value in said.items() if value is not None}
