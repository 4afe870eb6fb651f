"""The statistics of an audit in one value. Its parts are described in `findings`."""

from __future__ import annotations

from veridical.audits.record import Audit
from veridical.audits.statistics.agreement import agreements
from veridical.audits.statistics.cautions import cautions
from veridical.audits.statistics.findings import Summary
from veridical.audits.statistics.groups import breakdown, curves, flip_curves, removals
from veridical.audits.statistics.tables import table
from veridical.audits.statistics.verdicts import verdicts


def summarise(audit: Audit) -> Summary:
    """All statistics of an audit, and what to take from them in words."""
    tables = tuple(table(audit, metric) for metric in audit.metrics)
    removed = removals(audit, tables)
    return Summary(
        model=audit.model_name,
        data=audit.data,
        documents=len(audit.documents),
        tables=tables,
        parts=breakdown(audit),
        curves=curves(audit),
        flips=flip_curves(audit),
        removals=removed,
        agreements=(*agreements(audit), *([audit.likeness] if audit.likeness else [])),
        verdict=verdicts(audit, tables, removed),
        warnings=cautions(audit, tables),
    )
