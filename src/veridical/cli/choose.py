"""`veridical choose`: the objective, or the weight of one, whose explanations are best."""

from __future__ import annotations

import json
import math
import statistics
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from veridical.cli import completion
from veridical.cli.common import Json, Seeds, options_from, seeds_of
from veridical.cli.tables import print_table
from veridical.core.errors import UsageError
from veridical.core.model_names import check_new
from veridical.training import Schedule

if TYPE_CHECKING:
    from veridical.studies.choice import Candidate, Choice


@options_from(leave_out=("seed",), schedule=Schedule)
def choose(
    *,
    data: Annotated[
        str, typer.Option(help="Data to train on; its dev split decides.", autocompletion=completion.names("data"))
    ],
    out: Annotated[str, typer.Option(help="Folder for all models and audits.")],
    objective: Annotated[
        list[str],
        typer.Option(
            help="A candidate, as for `train`; repeat it. The first is the base.",
            autocompletion=completion.names("objectives"),
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            help="The method and the metric that decide, METHOD:METRIC; default: attention, normalised AOPC.",
            autocompletion=completion.names("explainers"),
        ),
    ] = None,
    documents: Annotated[int, typer.Option(min=2, help="How many documents of the dev split are audited.")] = 100,
    lose: Annotated[
        float,
        typer.Option(
            min=0.0, help="How much of the first candidate's dev figure may be lost by the one that is chosen."
        ),
    ] = 0.02,
    model: Annotated[
        str, typer.Option(help="embedded, tiny, a folder or a hub id.", autocompletion=completion.new_models)
    ] = "embedded",
    dev: Annotated[
        str | None,
        typer.Option(help="Data that decides; default: the dev split.", autocompletion=completion.names("data")),
    ] = None,
    schedule: Schedule,
    seed: Seeds = "0",
    as_json: Json = False,
) -> None:
    """Train with several objectives, audit each on the dev split, and say whose explanations are best.

    Killed and started again, it goes on where it stopped. Test splits play no part in the choice.
    """
    from veridical.cli.names import check_methods, check_metrics, check_objectives
    from veridical.cli.progress import shown

    check_new(model)
    check_objectives(objective)
    decides = _method_and_metric(by) if by is not None else {}
    if decides:
        check_methods(decides["method"])
        check_metrics(decides["metric"])

    from veridical.audits.statistics.findings import plain
    from veridical.studies.choice import choose as job

    with shown() as watch:
        found = job(
            data,
            out,
            objective,
            documents=documents,
            lose=lose,
            model=model,
            dev=dev,
            seeds=seeds_of(seed),
            schedule=schedule,
            watch=watch,
            **decides,
        )
    if as_json:
        typer.echo(json.dumps(plain(found)))
    else:
        _print(Console(highlight=False), found)


def _method_and_metric(by: str) -> dict[str, Any]:
    """`attention:decision-flip` is a method and a metric."""
    method, colon, metric = by.partition(":")
    if not (method and colon and metric):
        raise UsageError(f"--by cannot be {by!r}", remedy="Name both: attention:decision-flip.")
    return {"method": method, "metric": metric}


def _print(console: Console, found: Choice) -> None:
    arrow = "↑" if found.greater_is_better else "↓"
    headings = ["objective", f"dev {found.figure}", f"{arrow} {found.method}: {found.metric}", "against the first"]
    rows = [
        [
            each.objective,
            f"{each.skill:.4f}{'' if each.eligible else ' (lost too much)'}",
            _spread(each),
            _against(each),
        ]
        for each in found.candidates
    ]
    print_table(console, headings, rows)
    console.print(f"best, by {found.documents} documents that all have: {found.best.objective}", soft_wrap=True)
    for trained in found.best.trained:
        console.print(f"saved to {trained.out}", markup=False, soft_wrap=True)


def _spread(candidate: Candidate) -> str:
    if math.isnan(candidate.mean):
        return "undefined"
    if len(candidate.means) == 1:
        return f"{candidate.mean:.3f}"
    return f"{candidate.mean:.3f} ({statistics.stdev(candidate.means):.3f} over {len(candidate.means)} seeds)"


def _against(candidate: Candidate) -> str:
    if candidate.contrast is None:
        return ""
    return f"{candidate.contrast.second} (p = {candidate.contrast.adjusted:.3f})"
