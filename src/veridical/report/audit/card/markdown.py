"""Cards and comparisons in Markdown: for pull requests, wikis and terminals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from veridical.report.audit.card.figures import NONE, amount, arrow, interval, needed, p_value, score, unit
from veridical.report.audit.card.scores import methods_of
from veridical.report.audit.findings import Cell, Comparison, Contrast, Difference, Estimate, Removal, Summary, Table
from veridical.report.audit.record import FLOOR, Audit, Judge
from veridical.report.audit.writing import counted

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def card_markdown(audit: Audit, summary: Summary) -> str:
    """The card without its plots and documents."""
    parts = [
        f"# Audit of {safe(audit.model_name)} on {safe(audit.data)}",
        counted(len(audit.documents), "document"),
        *(safe(each) for each in summary.verdict),
        _list("Keep in mind", (*audit.warnings, *summary.warnings)),
        _list("Not measured", _items(audit.skipped)),
        _list("Documents that failed", _items(audit.failures)),
        *_scores(audit, summary),
        *(_removal(audit, each) for each in summary.removals),
        _cost(audit),
        _specs(audit.metrics),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison of two models."""
    parts = [
        f"# {safe(comparison.first)} or {safe(comparison.second)}?",
        f"{counted(comparison.documents, 'shared document')} of {safe(comparison.data)}. "
        f"First: {safe(comparison.first)}. Second: {safe(comparison.second)}.",
        *(safe(each) for each in comparison.verdict),
        _list("Keep in mind", comparison.warnings),
        _list("Not compared", _items(comparison.left_out)),
        *(part for judge in comparison.metrics for part in _differences(comparison, judge)),
        _specs(comparison.metrics),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def safe(text: str) -> str:
    """Text from data on one line, without any sign that Markdown or HTML would act on."""
    return _SPECIAL.sub(r"\\\1", _UNPRINTABLE.sub(" ", text))


def _items(told: Mapping[str, str]) -> list[str]:
    return [f"{what}: {why}" for what, why in told.items()]


def _list(title: str, items: Iterable[str]) -> str:
    lines = "\n".join(f"- {safe(each)}" for each in dict.fromkeys(items))
    return f"**{title}**\n\n{lines}" if lines else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _scores(audit: Audit, summary: Summary) -> Iterator[str]:
    if not summary.tables:
        return
    judges = [audit.metric(each.metric) for each in summary.tables]
    methods = methods_of(audit)
    yield "## Scores"
    yield _table(["Metric", *map(safe, methods)], map(partial(_row, methods), summary.tables, judges))
    yield (
        f"Mean with 95% interval; n where documents are undefined. **Bold**: best, or cannot be told apart from the "
        f"best. †: better than {FLOOR}, significant after Holm's correction."
    )


def _row(methods: Sequence[str], table: Table, judge: Judge) -> list[str]:
    head = f"{safe(judge.name)} {arrow(judge)}{unit(judge)}"
    return [head, *(_cell(table.cell(method), table, judge) for method in methods)]


def _cell(cell: Cell | None, table: Table, judge: Judge) -> str:
    if cell is None:
        return "not measured"
    number = _estimate(cell, judge)
    shown = f"**{number}**" if cell.method in table.best else number
    counts = f" n {cell.scored:,}" if cell.undefined else ""
    return f"{shown}{' †' if cell.beats_floor else ''}{counts}"


def _estimate(found: Cell | Estimate | Contrast, judge: Judge) -> str:
    around = interval(found.low, found.high, judge)
    return score(found.mean, judge) + ("" if around == NONE else f" ({around})")


def _removal(audit: Audit, found: Removal) -> str:
    head = [f"{safe(found.kind)} by", "ranking"]
    rows = [
        [safe(each.eraser), _ranked(audit.metric(each.metric), each.methods, each.means)] for each in found.rankings
    ]
    return f"## Does the ranking survive?\n\n{_table(head, rows)}"


def _ranked(judge: Judge, methods: Sequence[str], means: Sequence[float]) -> str:
    return ", ".join(f"{safe(method)} {score(mean, judge)}" for method, mean in zip(methods, means, strict=True))


def _cost(audit: Audit) -> str:
    kinds = list(dict.fromkeys(kind for method in audit.methods for kind in method.costs))
    if not kinds:
        return ""
    rows = (
        [safe(each.name), *(amount(each.costs.get(kind, float("nan"))) for kind in kinds)] for each in audit.methods
    )
    return f"## Cost per document\n\n{_table(['Method', *map(safe, kinds)], rows)}"


def _differences(comparison: Comparison, judge: Judge) -> Iterator[str]:
    found = [each for each in comparison.differences if each.metric == judge.name]
    head = ["Method", "First", "Second", "Difference", "p after Holm", "n", "Verdict", "Documents needed"]
    yield f"## {safe(judge.name)} {arrow(judge)}{unit(judge)}"
    yield _table(head, (_difference(each, judge) for each in found))


def _difference(each: Difference, judge: Judge) -> list[str]:
    found = each.contrast
    numbers = [_estimate(measured, judge) for measured in (each.first, each.second, found)]
    verdict = found.verdict if found.verdict == "cannot tell" else f"**{found.verdict}**"
    return [safe(each.method), *numbers, p_value(found.adjusted), f"{found.n:,}", verdict, needed(found)]


def _specs(judges: Sequence[Judge]) -> str:
    """How the numbers were made: without that, none may be printed."""
    lines = [json.dumps({judge.name: judge.spec}, ensure_ascii=True, default=str) for judge in judges]
    # Data cannot end the block early: no line of it can begin with the fence.
    return "## Specs of the metrics\n\n```json\n" + "\n".join(lines) + "\n```" if lines else ""
