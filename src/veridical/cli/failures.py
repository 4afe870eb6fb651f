"""Examples that a job could not do: some of them on standard error, and an exit code for all."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from rich.console import Console

PARTIAL = 7
"""The exit code of a job that is done but for some examples."""

_SHOWN = 5


def end_with_failures(what: str, reasons: Sequence[str], all_in: str = "") -> None:
    """Say why the first few examples failed, and end with the code for it; do nothing where none has.

    `what` says what was not done with them: `not explained`. `all_in` is the file that holds them all.
    """
    if not reasons:
        return
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    for reason in reasons[:_SHOWN]:
        console.print(f"{what}: {reason}")
    if len(reasons) > _SHOWN:
        console.print(f"{what}: and {len(reasons) - _SHOWN} more{f', all in {all_in}' if all_in else ''}")
    raise typer.Exit(PARTIAL)
