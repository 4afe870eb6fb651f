"""The documents that a metric likes best and least, with the highlights of every method side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from veridical.core.drawing import body, heading, legend
from veridical.core.explanation import Explanation
from veridical.report.audit.card.figures import direction, score
from veridical.report.audit.card.markup import Section, name, soft
from veridical.report.audit.card.specs import spec_link
from veridical.report.audit.findings import Summary, Table
from veridical.report.audit.record import FLOOR, Audit, Judge

Explained = Mapping[str, Sequence[Explanation]]
"""Explanations by the method's name in the audit."""

MOST = 3
"""So many of the best, and so many of the worst."""


def documents(audit: Audit, summary: Summary, explained: Explained, metric: str | None = None) -> Section:
    """The best and worst documents of the best method by a metric: the first that ranks words, unless one is named."""
    subject = _subject(audit, summary, metric)
    if subject is None:
        return Section("documents", "", "")
    judge, method = subject
    ids = {each.example_id for found in explained.values() for each in found}
    best, worst = extremes(audit, judge, method, ids)
    shown = [_document(audit, judge, id, "Best", explained) for id in best]
    shown += [_document(audit, judge, id, "Worst", explained) for id in worst]
    intro = (
        f"Where {name(method)} does best and worst by {name(judge.name)} ({direction(judge)}, "
        f"{spec_link(audit.metrics, judge.name)}). {legend()}"
    )
    return Section("documents", "Best and worst documents", "".join(shown), intro)


def to_show(audit: Audit, summary: Summary, metric: str | None = None) -> set[str]:
    """The documents that the card shows, so that only their explanations have to be at hand."""
    subject = _subject(audit, summary, metric)
    if subject is None:
        return set()
    best, worst = extremes(audit, *subject, {document.id for document in audit.documents})
    return {*best, *worst}


def _subject(audit: Audit, summary: Summary, metric: str | None) -> tuple[Judge, str] | None:
    """The metric that chooses documents and its best method, if it scored anything."""
    judge = audit.metric(metric) if metric else ranking_metric(audit)
    method = None if judge is None else _leader(summary.table(judge.name), judge)
    return None if judge is None or method is None else (judge, method)


def ranking_metric(audit: Audit) -> Judge | None:
    """The first metric that judges by order, which is one that was also asked about reversed orders; else the first."""
    ranks = (
        judge for judge in audit.metrics if any(audit.has(judge.name, each.name, "reversed") for each in audit.methods)
    )
    return next(ranks, audit.metrics[0] if audit.metrics else None)


def _leader(found: Table, judge: Judge) -> str | None:
    """The method with the best mean; the floor only where there is nothing else."""
    cells = [cell for cell in found.cells if cell.order == "given" and math.isfinite(cell.mean)]
    sign = -1 if judge.greater_is_better else 1
    ranked = sorted(cells, key=lambda cell: (cell.method == FLOOR, sign * cell.mean))
    return ranked[0].method if ranked else None


def extremes(audit: Audit, judge: Judge, method: str, ids: set[str]) -> tuple[list[str], list[str]]:
    """The best documents, the best first, and the worst, the worst first; no document is both."""
    sign = -1 if judge.greater_is_better else 1
    values = zip(audit.documents, audit.values(judge.name, method), strict=True)
    known = [(sign * float(value), each.id) for each, value in values if each.id in ids and math.isfinite(value)]
    ranked = [id for _, id in sorted(known, key=lambda pair: pair[0])]
    half = (len(ranked) + 1) // 2
    return ranked[: min(MOST, half)], ranked[half:][::-1][:MOST]


def _document(audit: Audit, judge: Judge, id: str, place: str, explained: Explained) -> str:
    found = {method: each for method, all in explained.items() for each in all if each.example_id == id}
    first = next(iter(found.values()))
    sections = "".join(_method(audit, judge, method, each) for method, each in found.items())
    return (
        f'<article class="document"><div class="top"><div>{heading(first)}</div>'
        f'<div class="id">{place}: {name(id)}</div></div><div class="methods several">{sections}</div></article>\n'
    )


def _method(audit: Audit, judge: Judge, method: str, explanation: Explanation) -> str:
    known = [each.id for each in audit.documents].index(explanation.example_id)
    value = float(audit.values(judge.name, method)[known])
    told = f"{score(value, judge)}" if audit.has(judge.name, method) else "not measured"
    return f'<section><h4>{name(method)} {soft(told)}</h4><div class="text">{body(explanation)}</div></section>\n'
