"""`veridical audit`: judge explanation methods on a model, and write a report card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from veridical.cli.common import PARTIAL, Bf16, Hold, Json, Long, Model, Tokens, Units, reading_settings

if TYPE_CHECKING:
    from veridical.audits import Audit
    from veridical.audits.statistics.findings import Summary


_WIDEST = 6  # of the printed numbers


def audit(
    model: Model,
    data: Annotated[str, typer.Option(help="Data to audit on, e.g. reviews:test[:500] or mine.csv(text=review).")],
    out: Annotated[str, typer.Option(help="Folder to write. What it holds already is not measured again.")],
    methods: Annotated[
        str,
        typer.Option(help="Methods to audit, e.g. attention,kernel-shap(samples=500); human stands for the evidence."),
    ] = "attention, integrated-gradients, occlusion",
    metrics: Annotated[
        str,
        typer.Option(help="Metrics or sets of them, e.g. default,stability; see `veridical list metric-sets`."),
    ] = "default",
    explanations: Annotated[
        list[str] | None, typer.Option(help="A file of explanations to audit beside the methods; may be repeated.")
    ] = None,
    target: Annotated[
        str, typer.Option(help="The class that is explained: predicted, gold, or a label.")
    ] = "predicted",
    timed: Annotated[int, typer.Option(min=0, help="Documents to explain one by one for taking times.")] = 10,
    units: Units = None,
    hold: Hold = None,
    long: Long = None,
    bf16: Bf16 = False,
    tokens: Tokens = 1024,
    as_json: Json = False,
) -> None:
    """Can the reasons be trusted? Explain a data set by several methods, judge them, and write a report card.

    Killed and started again, it goes on where it stopped. `--methods ""` audits files of explanations only.
    """
    from veridical.audits.card.card import SUMMARY_FILE
    from veridical.audits.job import audit as job
    from veridical.cli.common import shown
    from veridical.data import load
    from veridical.masking import Engine
    from veridical.models import Classifier

    examples = load(data)
    classifier = Classifier.load(model, **reading_settings(units, hold, long))
    engine = Engine(tokens=tokens, precision="bf16" if bf16 else "fp32")
    with shown() as watch:
        done = job(
            classifier,
            examples,
            methods,
            metrics,
            explanations=explanations or (),
            out=out,
            target=target,
            timed=timed,
            engine=engine,
            watch=watch,
        )
    if as_json:
        typer.echo((Path(out) / SUMMARY_FILE).read_text(encoding="utf-8").strip())
    else:
        _print(Console(highlight=False), done, done.summary, out)
    if done.failures:
        raise typer.Exit(PARTIAL)


def _print(console: Console, done: Audit, summary: Summary, out: str) -> None:
    from veridical.audits.card.card import CARD_PAGE

    for sentence in summary.verdict:
        console.print(Text(sentence))
    console.print()
    console.print(_scores(done, summary))
    console.print(
        Text(
            "\u2191 higher is better, \u2193 lower; bold: best, or not told from it. How each was made: the card.",
            "dim",
        )
    )
    for label, notes in (
        ("warning", (*done.warnings, *summary.warnings)),
        ("left out", _reasons(done.skipped)),
    ):
        for note in notes:
            console.print(Text.assemble((f"{label}: ", "yellow"), note))
    for example, why in list(done.failure_reasons.items())[:5]:
        console.print(Text.assemble(("failed: ", "red"), f"example {example}: {why}"))
    if len(done.failures) > 5:
        console.print(f"... and {len(done.failures) - 5} more failures, all in {out}/audit.json")
    asked, run = done.work.get("queries", 0), done.work.get("forwards", 0)
    if asked:
        console.print(f"{run:,} model inputs run of {asked:,} asked for ({run / asked:.0%}), in all", soft_wrap=True)
    console.print(f"report card: {(Path(out) / CARD_PAGE).resolve()}", soft_wrap=True)


def _scores(done: Audit, summary: Summary) -> Grid:
    """Metrics by methods; the best of each metric are in bold."""
    from veridical.audits.numbers import number

    grid = Grid(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    grid.add_column("")
    grid.add_column("metric", overflow="fold")
    for method in done.methods:
        grid.add_column(method.name, justify="right", overflow="fold", min_width=_WIDEST)
    for audited in done.metrics:
        table = summary.table(audited.name)
        cells = [table.cell(method.name) for method in done.methods]
        texts = [
            Text("-" if cell is None else number(cell.mean, audited), "bold" if method.name in table.best else "")
            for method, cell in zip(done.methods, cells, strict=True)
        ]
        grid.add_row("\u2191" if audited.greater_is_better else "\u2193", Text(audited.name, "cyan"), *texts)
    return grid


def _reasons(skipped: Mapping[str, str]) -> Iterator[str]:
    """What was left out, once for each reason."""
    for why in dict.fromkeys(skipped.values()):
        yield f"{', '.join(name for name, each in skipped.items() if each == why)}: {why}"
