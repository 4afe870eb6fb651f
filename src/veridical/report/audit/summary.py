"""The statistics of an audit in one value. Its parts are described in `findings`."""

from __future__ import annotations

from veridical.report.audit.agreement import agreements
from veridical.report.audit.breakdown import breakdown
from veridical.report.audit.cautions import cautions
from veridical.report.audit.curves import curves, flip_curves
from veridical.report.audit.findings import Agreement, IntervalKind, Summary
from veridical.report.audit.record import Audit
from veridical.report.audit.removal import removals
from veridical.report.audit.table import table
from veridical.report.audit.verdicts import verdicts


def summarise(audit: Audit, interval: IntervalKind = "bootstrap", likeness: Agreement | None = None) -> Summary:
    """All statistics of an audit. `likeness` of the methods' scores, which rows do not have, comes from outside."""
    tables = tuple(table(audit, judge, interval) for judge in audit.metrics)
    removed = removals(audit, tables)
    return Summary(
        model=audit.model_name,
        data=audit.data,
        documents=len(audit.documents),
        interval=interval,
        tables=tables,
        parts=breakdown(audit, interval),
        curves=curves(audit, interval),
        flips=flip_curves(audit),
        removals=removed,
        agreements=(*agreements(audit), *([likeness] if likeness else [])),
        verdict=verdicts(audit, tables, removed),
        warnings=cautions(audit, tables),
    )
