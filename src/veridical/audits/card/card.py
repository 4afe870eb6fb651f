"""The report card of an audit, and the page that compares two models: HTML files that load nothing, and JSON."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
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
from veridical.audits.statistics.findings import Comparison, Summary, plain
from veridical.core.storage import text_file
from veridical.report.markup import environment

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
