"""Report cards of audits: as pages, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment

from veridical.audits.card.plots import agreement_figures, curve_figures, metric_blocks
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
    shown_documents,
    to_show,
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
from veridical.audits.record import FLOOR, Audit, AuditedMetric, document_id
from veridical.audits.statistics.findings import (
    Cell,
    Contrast,
    Estimate,
    MetricTable,
    Removal,
    Summary,
    plain,
)
from veridical.audits.store import EXPLANATIONS, load_audit
from veridical.core.files import read, spec_key
from veridical.core.storage import text_file, write_json, write_text
from veridical.core.values import Explanation
from veridical.report.style import environment, overview

AnyPath = str | os.PathLike[str]
CARD_PAGE, CARD_MARKDOWN, SUMMARY_FILE = "card.html", "card.md", "summary.json"

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def publish(folder: AnyPath) -> Summary:
    """Write the card of an audit's folder anew. An audit has written it already, when it ended."""
    path = Path(folder)
    audit = load_audit(path)
    write_cards(audit, lambda documents: _explanations(audit, path, documents), path)
    return audit.summary


def write_cards(audit: Audit, explanations: Callable[[set[str]], ExplanationsByMethod], folder: Path) -> None:
    """Write the card of an audit as a page, as Markdown and as JSON.

    `explanations` gives those of some documents by method: the page shows a few of them.
    """
    summary = audit.summary
    write_card(audit, summary, explanations(to_show(audit, summary)), folder / CARD_PAGE)
    write_text(folder / CARD_MARKDOWN, card_markdown(audit, summary))
    write_json(folder / SUMMARY_FILE, summary_json(audit, summary))


def _explanations(audit: Audit, folder: Path, documents: Container[str]) -> dict[str, list[Explanation]]:
    """The explanations of some documents, by method, from the file of an audit."""
    found: dict[str, list[Explanation]] = {method.name: [] for method in audit.methods}
    for name, document, explanation in explanations_by_method(audit, folder):
        if document in documents:
            found[name].append(explanation)
    return found


def explanations_by_method(audit: Audit, folder: Path) -> Iterator[tuple[str, str, Explanation]]:
    """The explanations of an audit's file, each with the name of its method and the id of its document."""
    names = {spec_key(method.spec): method.name for method in audit.methods}
    for explanation in read(folder / EXPLANATIONS):
        name = names.get(spec_key(explanation.spec))
        if name is not None:
            yield name, document_id(explanation.example_id, explanation.target, audit.model), explanation


def fragment(audit: Audit) -> str:
    """What a notebook shows of an audit: its verdict, and the mean of every metric and method."""
    summary, methods = audit.summary, methods_of(audit)
    rows = [
        [f"{found.metric} {arrow(audit.metric(found.metric))}{unit(audit.metric(found.metric))}", *_means(audit, found)]
        for found in summary.tables
    ]
    return overview(repr(audit), summary.verdict, ["metric", *methods], rows)


def _means(audit: Audit, found: MetricTable) -> list[str]:
    cells = [found.cell(method) for method in methods_of(audit)]
    return [NONE if cell is None else score(cell.mean, audit.metric(found.metric)) for cell in cells]


def card_markdown(audit: Audit, summary: Summary) -> str:
    """The card without its plots and documents."""
    parts = [
        f"# Audit of {safe(audit.model_name)} on {safe(audit.data)}",
        counted(len(audit.documents), "document"),
        *(safe(each) for each in summary.verdict),
        bullets("Keep in mind", (*audit.warnings, *summary.warnings)),
        bullets("Not measured", named_items(audit.skipped)),
        bullets("Documents that failed", named_items(audit.failure_reasons)),
        *_scores(audit, summary),
        *(_removal(audit, each) for each in summary.removals),
        _cost(audit),
        spec_block(audit.metrics),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def safe(text: str) -> str:
    """Text from data on one line, without any sign that Markdown or HTML would act on."""
    return _SPECIAL.sub(r"\\\1", _UNPRINTABLE.sub(" ", text))


def named_items(told: Mapping[str, str]) -> list[str]:
    """Things by name with what is said of each, as one text each."""
    return [f"{what}: {why}" for what, why in told.items()]


def bullets(title: str, items: Iterable[str]) -> str:
    """A list under a title, each item once; nothing for no items."""
    lines = "\n".join(f"- {safe(each)}" for each in dict.fromkeys(items))
    return f"**{title}**\n\n{lines}" if lines else ""


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns are numbers, but for the first."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _scores(audit: Audit, summary: Summary) -> Iterator[str]:
    if not summary.tables:
        return
    metrics = [audit.metric(each.metric) for each in summary.tables]
    methods = methods_of(audit)
    yield "## Scores"
    yield markdown_table(["Metric", *map(safe, methods)], map(partial(_row, methods), summary.tables, metrics))
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
    number = estimate(cell, metric)
    shown = f"**{number}**" if cell.method in table.best else number
    counts = f" n {cell.scored:,}" if cell.undefined else ""
    return f"{shown}{' †' if cell.beats_floor else ''}{counts}"


def estimate(found: Cell | Estimate | Contrast, metric: AuditedMetric) -> str:
    """A mean with its interval, where it has one."""
    around = interval(found.low, found.high, metric)
    return score(found.mean, metric) + ("" if around == NONE else f" ({around})")


def _removal(audit: Audit, found: Removal) -> str:
    head = [f"{safe(found.kind)} by", "ranking"]
    rows = [
        [safe(each.eraser), _ranked(audit.metric(each.metric), each.methods, each.means)] for each in found.rankings
    ]
    return f"## Does the ranking survive?\n\n{markdown_table(head, rows)}"


def _ranked(metric: AuditedMetric, methods: Sequence[str], means: Sequence[float]) -> str:
    return ", ".join(f"{safe(method)} {score(mean, metric)}" for method, mean in zip(methods, means, strict=True))


def _cost(audit: Audit) -> str:
    kinds = list(dict.fromkeys(kind for method in audit.methods for kind in method.costs))
    if not kinds:
        return ""
    rows = (
        [safe(each.name), *(amount(each.costs.get(kind, float("nan"))) for kind in kinds)] for each in audit.methods
    )
    return f"## Cost per document\n\n{markdown_table(['Method', *map(safe, kinds)], rows)}"


def spec_block(metrics: Sequence[AuditedMetric]) -> str:
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
        "places": spec_places(audit.metrics),
        "versions": audit.versions,
        "sections": [each for each in _card_sections(audit, summary, explanations or {}) if each.shown],
    }
    with text_file(path) as page:
        page.writelines(TEMPLATES.get_template("card.html").generate(values))


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


def _caveats(audit: Audit, summary: Summary) -> dict[str, Sequence[str]]:
    """What to keep in mind, by heading."""
    warnings = dict.fromkeys((*audit.warnings, *summary.warnings))
    if all(method.name != FLOOR for method in audit.methods):
        warnings |= {f"{FLOOR} was not audited, so there is no floor to compare with.": None}
    return {
        "Keep in mind": list(warnings),
        "Not measured": named_items(audit.skipped),
        "Documents that failed": named_items(audit.failure_reasons),
    }


def spec_places(metrics: Sequence[AuditedMetric]) -> dict[str, int]:
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
