"""Report cards of audits and comparisons, as pages and as Markdown."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from jinja2 import Environment

from veridical.audits.card.plots import agreement_figures, curve_figures, difference_blocks, metric_blocks
from veridical.audits.card.sections import (
    ExplanationsByMethod,
    Section,
    attack_rows,
    audit_specs,
    cost_table,
    group_tables,
    kendall_pairs,
    kind_tables,
    methods_of,
    metric_specs,
    shown_documents,
)
from veridical.audits.numbers import (
    NONE,
    amount,
    arrow,
    breakable,
    check_spec,
    counted,
    direction,
    documents_needed,
    interval,
    p_value,
    plain_number,
    probability,
    score,
    unit,
)
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
    plain,
)
from veridical.core.storage import text_file
from veridical.report.markup import environment

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


FORMAT, VERSION = "veridical-audit-summary", 1


def write_card(
    audit: Audit, summary: Summary, explanations: ExplanationsByMethod | None, path: str | os.PathLike[str]
) -> None:
    """Write the card. With `explanations` by method it shows the best and the worst documents.

    The same input gives the same bytes. The file appears only when it is complete.
    """
    for metric in audit.metrics:
        check_spec(metric)
    values = {
        "title": f"Audit of {audit.model_name} on {audit.data}",
        "audit": audit,
        "summary": summary,
        "caveats": _caveats(audit, summary),
        "places": _places(audit.metrics),
        "versions": audit.versions,
        "sections": [each for each in _card_sections(audit, summary, explanations or {}) if each.shown],
    }
    with text_file(path) as page:
        page.writelines(TEMPLATES.get_template("card.html").generate(values))


def write_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the comparison as one HTML file; it appears only when it is complete."""
    values = {
        "title": f"{comparison.first} or {comparison.second}?",
        "comparison": comparison,
        "caveats": {"Keep in mind": comparison.warnings, "Not compared": _told(comparison.left_out)},
        "places": _places(comparison.metrics),
        "versions": {},
        "sections": [each for each in _comparison_sections(comparison) if each.shown],
    }
    with text_file(path) as page:
        page.writelines(TEMPLATES.get_template("comparison.html").generate(values))


def summary_json(audit: Audit, summary: Summary) -> dict[str, Any]:
    """The summary as data, with the specs that its numbers were made by. Numbers that do not exist are null."""
    told = ("methods", "metrics", "skipped", "failures", "work", "versions", "settings")
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": plain(audit.model),
        **{name: plain(getattr(audit, name)) for name in told},
        "summary": plain(summary),
    }


def _card_sections(audit: Audit, summary: Summary, explained: ExplanationsByMethod) -> list[Section]:
    return [
        Section("scores", "All scores", summary.tables),
        Section("metrics", "Metric by metric", metric_blocks(audit, summary)),
        Section("curves", "Step by step", curve_figures(audit, summary)),
        Section("agreement", "Do methods agree?", agreement_figures(audit, summary)),
        Section("groups", "By class and by length", group_tables(audit, summary)),
        Section("kinds", "Kinds of words", kind_tables(audit)),
        Section("removal", "Does the ranking survive?", summary.removals),
        Section("attacks", "Can the model be fooled?", attack_rows(audit)),
        Section("cost", "Cost", cost_table(audit)),
        Section("documents", "Best and worst documents", shown_documents(audit, summary, explained)),
        Section("specs", "How every number was made", audit_specs(audit)),
    ]


def _comparison_sections(comparison: Comparison) -> list[Section]:
    return [
        Section("differences", "Metric by metric", difference_blocks(comparison)),
        Section("likeness", "Do both models give the same reasons?", comparison.likeness),
        Section("specs", "How every number was made", metric_specs(comparison.metrics)),
    ]


def _caveats(audit: Audit, summary: Summary) -> dict[str, Sequence[str]]:
    """What to keep in mind, by heading."""
    warnings = dict.fromkeys((*audit.warnings, *summary.warnings))
    if all(method.name != FLOOR for method in audit.methods):
        warnings |= {f"{FLOOR} was not audited, so there is no floor to compare with.": None}
    return {
        "Keep in mind": list(warnings),
        "Not measured": _told(audit.skipped),
        "Documents that failed": _told(audit.failure_reasons),
    }


def _told(reasons: Mapping[str, str]) -> list[str]:
    return [f"{what}: {why}" for what, why in reasons.items()]


def _places(metrics: Sequence[AuditedMetric]) -> dict[str, int]:
    """Where the spec of each metric stands, so that every number can lead to it."""
    return {metric.name: place for place, metric in enumerate(metrics, start=1)}


def _environment() -> Environment:
    """The templates of cards, and the functions that they write numbers and names by."""
    made = environment("veridical.audits.card", "veridical.report")
    functions: list[Callable[..., Any]] = [
        score,
        interval,
        direction,
        arrow,
        unit,
        p_value,
        plain_number,
        amount,
        documents_needed,
    ]
    functions += [counted, probability, breakable, methods_of, kendall_pairs]
    made.globals |= {each.__name__: each for each in functions}
    made.globals |= {"FLOOR": FLOOR, "NONE": NONE}
    made.tests["finite"] = math.isfinite
    return made


TEMPLATES = _environment()
"""The templates of cards and comparisons."""
