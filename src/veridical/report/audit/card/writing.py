"""Report cards: one HTML file that loads nothing, the same in Markdown, and the numbers as JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from veridical.core.files.appearing import appearing
from veridical.report.audit.card.attacks import attacks
from veridical.report.audit.card.cost import cost
from veridical.report.audit.card.curves import agreements, curves
from veridical.report.audit.card.documents import Explained, documents
from veridical.report.audit.card.front import front
from veridical.report.audit.card.groups import groups, removals
from veridical.report.audit.card.kinds import kinds
from veridical.report.audit.card.markup import Section, sections
from veridical.report.audit.card.scores import metrics, overview
from veridical.report.audit.card.specs import specs
from veridical.report.audit.card.styles import CARD_STYLES
from veridical.report.audit.findings import Summary, plain
from veridical.report.audit.record import Audit
from veridical.report.frame import FOOT, head

FORMAT, VERSION = "veridical-audit-summary", 1


def write_card(
    audit: Audit,
    summary: Summary,
    explanations: Explained | None,
    path: str | os.PathLike[str],
    metric: str | None = None,
) -> None:
    """Write the card. With `explanations` by method it shows the documents that `metric` likes best and least.

    The same input gives the same bytes. The file appears only when it is complete.
    """
    with appearing(path) as page:
        page.writelines(_card(audit, summary, explanations or {}, metric))


def _card(audit: Audit, summary: Summary, explained: Explained, metric: str | None) -> Iterator[str]:
    yield head(f"Audit of {audit.model_name} on {audit.data}", CARD_STYLES)
    yield front(audit, summary)
    yield sections(_sections(audit, summary, explained, metric))
    yield FOOT


def _sections(audit: Audit, summary: Summary, explained: Explained, metric: str | None) -> Iterator[Section]:
    yield overview(audit, summary)
    yield metrics(audit, summary)
    yield curves(audit, summary)
    yield agreements(audit, summary)
    yield groups(audit, summary)
    yield kinds(audit)
    yield removals(audit, summary)
    yield attacks(audit)
    yield cost(audit)
    yield documents(audit, summary, explained, metric)
    yield specs(audit)


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
