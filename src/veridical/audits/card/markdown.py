"""Cards and comparisons in Markdown: for pull requests, wikis and terminals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from veridical.audits.card.sections import methods_of
from veridical.audits.numbers import NONE, amount, arrow, counted, documents_needed, interval, p_value, score, unit
from veridical.audits.record import FLOOR, Audit, AuditedMetric
from veridical.audits.statistics.findings import (
    Cell,
    Comparison,
    Contrast,
    Difference,
    Estimate,
    MetricTable,
    Removal,
    Summary,
)

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
        _list("Documents that failed", _items(audit.failure_reasons)),
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
        *(part for metric in comparison.metrics for part in _differences(comparison, metric)),
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
    metrics = [audit.metric(each.metric) for each in summary.tables]
    methods = methods_of(audit)
    yield "## Scores"
    yield _table(["Metric", *map(safe, methods)], map(partial(_row, methods), summary.tables, metrics))
    yield (
        f"Mean with 95% interval; n where documents are undefined. **Bold**: best, or cannot be told apart from the "
        f"best. †: better than {FLOOR}, significant after Holm's correction."
    )


def _row(methods: Sequence[str], table: MetricTable, metric: AuditedMetric) -> list[str]:
    head = f"{safe(metric.name)} {arrow(metric)}{unit(metric)}"
    return [head, *(_cell(table.cell(method), table, metric) for method in methods)]


def _cell(cell: Cell | None, table: MetricTable, metric: AuditedMetric) -> str:
    if cell is None:
        return "not measured"
    number = _estimate(cell, metric)
    shown = f"**{number}**" if cell.method in table.best else number
    counts = f" n {cell.scored:,}" if cell.undefined else ""
    return f"{shown}{' †' if cell.beats_floor else ''}{counts}"


def _estimate(found: Cell | Estimate | Contrast, metric: AuditedMetric) -> str:
    around = interval(found.low, found.high, metric)
    return score(found.mean, metric) + ("" if around == NONE else f" ({around})")


def _removal(audit: Audit, found: Removal) -> str:
    head = [f"{safe(found.kind)} by", "ranking"]
    rows = [
        [safe(each.eraser), _ranked(audit.metric(each.metric), each.methods, each.means)] for each in found.rankings
    ]
    return f"## Does the ranking survive?\n\n{_table(head, rows)}"


def _ranked(metric: AuditedMetric, methods: Sequence[str], means: Sequence[float]) -> str:
    return ", ".join(f"{safe(method)} {score(mean, metric)}" for method, mean in zip(methods, means, strict=True))


def _cost(audit: Audit) -> str:
    kinds = list(dict.fromkeys(kind for method in audit.methods for kind in method.costs))
    if not kinds:
        return ""
    rows = (
        [safe(each.name), *(amount(each.costs.get(kind, float("nan"))) for kind in kinds)] for each in audit.methods
    )
    return f"## Cost per document\n\n{_table(['Method', *map(safe, kinds)], rows)}"


def _differences(comparison: Comparison, metric: AuditedMetric) -> Iterator[str]:
    found = [each for each in comparison.differences if each.metric == metric.name]
    head = ["Method", "First", "Second", "Difference", "p after Holm", "n", "Verdict", "Documents needed"]
    yield f"## {safe(metric.name)} {arrow(metric)}{unit(metric)}"
    yield _table(head, (_difference(each, metric) for each in found))


def _difference(each: Difference, metric: AuditedMetric) -> list[str]:
    found = each.contrast
    numbers = [_estimate(measured, metric) for measured in (each.first, each.second, found)]
    verdict = found.verdict if found.verdict == "cannot tell" else f"**{found.verdict}**"
    return [safe(each.method), *numbers, p_value(found.adjusted), f"{found.n:,}", verdict, documents_needed(found)]


def _specs(metrics: Sequence[AuditedMetric]) -> str:
    """How the numbers were made: without that, none may be printed."""
    lines = [json.dumps({metric.name: metric.spec}, ensure_ascii=True, default=str) for metric in metrics]
    # Data cannot end the block early: no line of it can begin with the fence.
    return "## Specs of the metrics\n\n```json\n" + "\n".join(lines) + "\n```" if lines else ""
