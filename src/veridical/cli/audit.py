"""`veridical audit`: judge explanation methods on a model, and write a report card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from veridical.cli import completion
from veridical.cli.common import Bf16, Hold, Json, Long, Model, Tokens, Units, reading_settings
from veridical.cli.failures import end_with_failures
from veridical.cli.tables import print_table
from veridical.core.model_names import check_trained
from veridical.core.values import HUMAN

if TYPE_CHECKING:
    from veridical.audits import Audit
    from veridical.audits.statistics.findings import Summary


def audit(
    model: Model,
    data: Annotated[
        str,
        typer.Option(
            help="Data to audit on, e.g. reviews:test[:500] or mine.csv(text=review).",
            autocompletion=completion.names("data"),
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder to write. What it holds already is not measured again.")],
    methods: Annotated[
        str,
        typer.Option(
            help="Methods to audit, e.g. attention,kernel-shap(samples=500); human stands for the evidence.",
            autocompletion=completion.names("explainers", also=[HUMAN]),
        ),
    ] = "attention, integrated-gradients, occlusion",
    metrics: Annotated[
        str,
        typer.Option(
            help="Metrics or sets of them, e.g. default,stability; see `veridical list metric-sets`.",
            autocompletion=completion.names("metrics", "metric-sets"),
        ),
    ] = "default",
    explanations: Annotated[
        list[str] | None, typer.Option(help="A file of explanations to audit beside the methods; may be repeated.")
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            help="The class that is explained: predicted, gold, or a label.",
            autocompletion=completion.words("predicted", "gold"),
        ),
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
    from veridical.cli.names import check_methods, check_metrics
    from veridical.cli.progress import shown
    from veridical.data import load

    check_trained(model)
    check_methods(methods)
    check_metrics(metrics)
    examples = load(data)

    from veridical.audits.card.card import SUMMARY_FILE
    from veridical.audits.job import audit as job
    from veridical.audits.store import AUDIT_FILE
    from veridical.masking import Engine
    from veridical.models import Classifier

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
    failed = [f"example {example}: {why}" for example, why in done.failure_reasons.items()]
    end_with_failures("failed", failed, all_in=str(Path(out) / AUDIT_FILE))


def _print(console: Console, done: Audit, summary: Summary, out: str) -> None:
    from veridical.audits.card.card import CARD_PAGE

    for sentence in summary.verdict:
        console.print(Text(sentence))
    console.print()
    _print_scores(console, done, summary)
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
    asked, run = done.work.get("queries", 0), done.work.get("forwards", 0)
    if asked:
        console.print(f"{run:,} model inputs run of {asked:,} asked for ({run / asked:.0%}), in all", soft_wrap=True)
    console.print(f"report card: {(Path(out) / CARD_PAGE).resolve()}", soft_wrap=True)


def _print_scores(console: Console, done: Audit, summary: Summary) -> None:
    """Metrics by methods; the best of each metric are in bold."""
    from veridical.audits.numbers import number

    rows = []
    for audited in done.metrics:
        table = summary.table(audited.name)
        cells = [table.cell(method.name) for method in done.methods]
        texts = [
            Text("-" if cell is None else number(cell.mean, audited), "bold" if method.name in table.best else "")
            for method, cell in zip(done.methods, cells, strict=True)
        ]
        arrow = "\u2191" if audited.greater_is_better else "\u2193"
        rows.append([Text.assemble(f"{arrow} ", (audited.name, "cyan")), *texts])
    names = [method.name for method in done.methods]
    print_table(console, ["metric", *names], rows, numbers=range(1, len(names) + 1))


def _reasons(skipped: Mapping[str, str]) -> Iterator[str]:
    """What was left out, once for each reason."""
    for why in dict.fromkeys(skipped.values()):
        yield f"{', '.join(name for name, each in skipped.items() if each == why)}: {why}"
