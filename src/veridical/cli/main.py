"""The `veridical` command: its subcommands, and what becomes of errors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.console import Console

from veridical.cli import (
    audit,
    check,
    choose,
    compare,
    distil,
    explain,
    export,
    fresh,
    gate,
    inventory,
    predict,
    reproduce,
    scaffold,
    show,
    train,
)
from veridical.cli.startup import collecting_seldom
from veridical.core.errors import VeridicalError, VeridicalWarning

INTERRUPTED = 130

app = typer.Typer(
    help="Why did a text classifier say that, can the reason be trusted, how do we make it more trustworthy?",
    epilog="Exit codes: 0 done, 2 wrong request, 3 bad data, 4 the model cannot do it, 5 a file cannot be read or "
    "written, 6 the model misbehaved, 7 done but for some examples, 8 a gate is not passed, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train.train)
app.command()(predict.predict)
app.command()(check.check)
app.command()(explain.explain)
app.command()(show.show)
app.command()(audit.audit)
app.command()(compare.compare)
app.command()(gate.gate)
app.command()(choose.choose)
app.command()(distil.distil)
app.command()(export.export)
app.command()(scaffold.scaffold)
app.command()(fresh.fresh)
app.command()(reproduce.reproduce)
app.command(name="list")(inventory.inventory)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"veridical {version('veridical')}")
        raise typer.Exit


@app.callback()
def _before(
    _version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@contextmanager
def _notes(console: Console) -> Iterator[None]:
    """While inside, what Veridical warns of is printed as a note, once."""
    said, otherwise = set[str](), warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if not issubclass(category, VeridicalWarning):
            otherwise(message, category, *where)
        elif str(message) not in said:
            said.add(str(message))
            console.print(f"note: {message}", markup=False, highlight=False, soft_wrap=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", VeridicalWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def run() -> None:
    """Run the command line; an error or a warning that Veridical understands is a sentence, not a trace."""
    console = Console(stderr=True)
    try:
        with collecting_seldom(), _notes(console):
            app(prog_name="veridical")
    except VeridicalError as error:
        console.print("error:", style="bold red", end=" ")
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer has caught the key
            console.print("interrupted: what was finished is kept; run the same command again to go on")
        raise
