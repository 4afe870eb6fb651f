"""The first thing to read: what was audited, the verdict in words, and what stands in its way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from veridical.core.drawing import escaped
from veridical.report.audit.card.markup import details, listed, name
from veridical.report.audit.findings import Summary
from veridical.report.audit.record import FLOOR, Audit
from veridical.report.audit.writing import counted

_MANY = 8  # more than so many items are folded away


def front(audit: Audit, summary: Summary) -> str:
    """The head of the card."""
    methods = ", ".join(name(each.name) for each in audit.methods)
    facts = [("Model", name(audit.model_name)), ("Data", name(audit.data)), ("Methods", methods)]
    facts.append(("Metrics", ", ".join(name(each.name) for each in audit.metrics)))
    rows = "".join(f"<dt>{what}</dt><dd>{told}</dd>" for what, told in facts if told)
    counts = ", ".join(
        [
            counted(len(audit.documents), "document"),
            counted(len(audit.methods), "method"),
            counted(len(audit.metrics), "metric"),
        ]
    )
    return (
        f'<header><h1>Can the reasons of {name(audit.model_name)} be trusted?</h1><p class="counts">{counts}</p>'
        f"<dl>{rows}</dl></header>\n{verdict(summary.verdict)}{_caveats(audit, summary)}"
    )


def verdict(sentences: Iterable[str]) -> str:
    """The verdict, in words."""
    told = "".join(f"<p>{escaped(each)}</p>" for each in sentences)
    return f'<article class="verdict">{told or "<p>There is nothing to say: nothing was scored.</p>"}</article>\n'


def caveats(found: Mapping[str, Iterable[str]]) -> str:
    """What to keep in mind, by heading; nothing where there is nothing."""
    told = "".join(_caveat(title, list(each)) for title, each in found.items())
    return f'<article class="caveats">{told}</article>\n' if told else ""


def _caveat(title: str, items: Sequence[str]) -> str:
    if len(items) > _MANY:
        return details(f"{title} ({len(items):,})", listed(map(escaped, items)))
    return f"<h3>{title}</h3>{listed(map(escaped, items))}" if items else ""


def _caveats(audit: Audit, summary: Summary) -> str:
    warnings = dict.fromkeys((*audit.warnings, *summary.warnings))
    if all(each.name != FLOOR for each in audit.methods):
        warnings |= {f"{FLOOR} was not audited, so there is no floor to compare with.": None}
    skipped = (f"{what}: {why}" for what, why in audit.skipped.items())
    failures = (f"{document}: {why}" for document, why in audit.failures.items())
    return caveats({"Keep in mind": warnings, "Not measured": skipped, "Documents that failed": failures})
