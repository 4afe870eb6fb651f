"""Options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from veridical.training import Schedule

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

Epochs = Annotated[float, typer.Option(help="Passes over the data.")]
BatchSize = Annotated[int, typer.Option(help="Examples per step.")]
Rate = Annotated[
    float | None, typer.Option(help="Learning rate of the encoder; default: 5e-5, or 1e-3 for small models.")
]
HeadRate = Annotated[
    float | None, typer.Option(help="Learning rate of the head; default: 5e-4, or 1e-3 for small models.")
]
Checks = Annotated[int, typer.Option(help="Looks at the dev split per epoch; each leaves a checkpoint.")]
BestBy = Annotated[
    str | None, typer.Option(help="What the best checkpoint is chosen by: accuracy, macro_f1, loss, pearson.")
]
Patience = Annotated[int | None, typer.Option(help="Stop after so many looks without improvement.")]
Seeds = Annotated[
    str,
    typer.Option("--seed", help="Seed of the head, the order of examples and dropout. 0,1,2 trains one for each."),
]


def seeds_of(text: str) -> list[int]:
    """The seeds that an option names, each once."""
    from veridical.core.errors import UsageError

    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise UsageError(f"--seed cannot be {text!r}", remedy="Give a whole number, or several: 0,1,2.") from None


def schedule_of(
    command: str,
    epochs: float,
    batch_size: int,
    rate: float | None,
    head_rate: float | None,
    checks: int,
    metric: str | None,
    patience: int | None,
    **more: Any,
) -> Schedule:
    """How long and how fast a command trains, by what was said."""
    from veridical.core.component import check_options
    from veridical.training import Schedule

    said = {"epochs": epochs, "batch_size": batch_size, "rate": rate, "head_rate": head_rate, "checks": checks}
    return Schedule(**check_options(Schedule, command, {**said, "metric": metric, "patience": patience, **more}))


def reading_settings(units: str | None, hold: str | None, long: str | None) -> dict[str, Any]:
    """How texts are read, as far as it was said."""
    from veridical.core.errors import UsageError

    said = {"units": units, "hold": hold, "long": long}
    allowed = {"units": ("word", "token"), "hold": ("text", "text_pair"), "long": ("truncate", "window")}
    for name, value in said.items():
        if value is not None and value not in allowed[name]:
            raise UsageError(f"--{name} cannot be {value!r}", remedy=f"It is one of: {', '.join(allowed[name])}.")
    return {name: value for name, value in said.items() if value is not None}
