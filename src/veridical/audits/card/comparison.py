"""Comparisons of two audited models: from two folders, as a page, as Markdown and as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from veridical.audits.card.card import (
    TEMPLATES,
    bullets,
    estimate,
    explanations_by_method,
    markdown_table,
    named_items,
    safe,
    spec_block,
    spec_places,
)
from veridical.audits.card.plots import dot
from veridical.audits.card.sections import Section, metric_specs
from veridical.audits.numbers import arrow, counted, documents_needed, p_value, unit
from veridical.audits.record import FLOOR, Audit, AuditedMetric
from veridical.audits.statistics.comparison import check_comparable, compare, match_methods
from veridical.audits.statistics.findings import Comparison, Difference, plain
from veridical.audits.statistics.groups import jaccard
from veridical.audits.store import load_audit
from veridical.core.errors import UsageError
from veridical.core.storage import text_file, write_json, write_text
from veridical.report.plots import dots

AnyPath = str | os.PathLike[str]
ScoresByDocument = dict[str, tuple[float, ...]]

ENDINGS = (".html", ".md", ".json")


def compare_folders(one: AnyPath, other: AnyPath) -> Comparison:
    """Compare two audits by their folders, with how alike the explanations of the two models are."""
    first, second = load_audit(one), load_audit(other)
    check_comparable(first, second)
    mine, theirs = _scores(first, Path(one)), _scores(second, Path(other))
    pairs = {each.name: (mine[each.name], theirs[same.name]) for each, same in match_methods(first, second).pairs}
    return compare(first, second, likeness={name: _likeness(*scores) for name, scores in pairs.items()})


def write_comparison_to(comparison: Comparison, path: AnyPath) -> None:
    """Write a comparison in the format that the file's ending names: .html, .md or .json."""
    goal = Path(path)
    check_ending(goal)
    if goal.suffix == ".md":
        write_text(goal, comparison_markdown(comparison))
    elif goal.suffix == ".json":
        write_json(goal, plain(comparison))
    else:
        write_comparison(comparison, goal)


def check_ending(path: AnyPath) -> None:
    """Refuse a file for a comparison whose ending names no format."""
    if Path(path).suffix not in ENDINGS:
        raise UsageError(f"{path} does not say its format", remedy=f"It ends in one of: {', '.join(ENDINGS)}.")


def write_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the comparison as one HTML file; it appears only when it is complete."""
    values = {
        "title": f"{comparison.first} or {comparison.second}?",
        "comparison": comparison,
        "caveats": {"Keep in mind": comparison.warnings, "Not compared": named_items(comparison.left_out)},
        "places": spec_places(comparison.metrics),
        "versions": {},
        "sections": [each for each in _comparison_sections(comparison) if each.shown],
    }
    with text_file(path) as page:
        page.writelines(TEMPLATES.get_template("comparison.html").generate(values))


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison of two models."""
    parts = [
        f"# {safe(comparison.first)} or {safe(comparison.second)}?",
        f"{counted(comparison.documents, 'shared document')} of {safe(comparison.data)}. "
        f"First: {safe(comparison.first)}. Second: {safe(comparison.second)}.",
        *(safe(each) for each in comparison.verdict),
        bullets("Keep in mind", comparison.warnings),
        bullets("Not compared", named_items(comparison.left_out)),
        *(part for metric in comparison.metrics for part in _differences(comparison, metric)),
        spec_block(comparison.metrics),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True)
class DifferenceBlock:
    """The differences between two models by one metric, each with a dot on a strip; `axis` stands over the strips."""

    metric: AuditedMetric
    axis: Markup
    rows: tuple[tuple[Difference, Markup], ...]


def _scores(audit: Audit, folder: Path) -> dict[str, ScoresByDocument]:
    """The scores of each method by document."""
    known = {document.id for document in audit.documents}
    found: dict[str, ScoresByDocument] = {method.name: {} for method in audit.methods}
    for name, document, explanation in explanations_by_method(audit, folder):
        if document in known:
            found[name][document] = explanation.scores
    return found


def _likeness(mine: ScoresByDocument, theirs: ScoresByDocument) -> float:
    found = [jaccard(mine[id], theirs[id]) for id in mine if id in theirs]
    return float(np.mean(found)) if found else float("nan")


def _comparison_sections(comparison: Comparison) -> list[Section]:
    return [
        Section("differences", "Metric by metric", difference_blocks(comparison)),
        Section("likeness", "Do both models give the same reasons?", comparison.likeness),
        Section("specs", "How every number was made", metric_specs(comparison.metrics)),
    ]


def difference_blocks(comparison: Comparison) -> list[DifferenceBlock]:
    """The differences by each metric, the floor last."""
    return [_difference_block(comparison, metric) for metric in comparison.metrics]


def _difference_block(comparison: Comparison, metric: AuditedMetric) -> DifferenceBlock:
    found = [each for each in comparison.differences if each.metric == metric.name]
    found.sort(key=lambda each: each.method == FLOOR)
    axis, strips = dots([dot(each.method, each.contrast, metric) for each in found], FLOOR, 0.0)
    return DifferenceBlock(metric, axis, tuple(zip(found, strips, strict=True)))


def _differences(comparison: Comparison, metric: AuditedMetric) -> Iterator[str]:
    found = [each for each in comparison.differences if each.metric == metric.name]
    head = ["Method", "First", "Second", "Difference", "p after Holm", "n", "Verdict", "Documents needed"]
    yield f"## {safe(metric.name)} {arrow(metric)}{unit(metric)}"
    yield markdown_table(head, (_difference(each, metric) for each in found))


def _difference(each: Difference, metric: AuditedMetric) -> list[str]:
    found = each.contrast
    numbers = [estimate(measured, metric) for measured in (each.first, each.second, found)]
    verdict = found.verdict if found.verdict == "cannot tell" else f"**{found.verdict}**"
    return [safe(each.method), *numbers, p_value(found.adjusted), f"{found.n:,}", verdict, documents_needed(found)]
