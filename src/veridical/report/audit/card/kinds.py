"""Which kinds of words explanations rely on, where an audit has looked at parts of speech."""

from __future__ import annotations

import numpy as np

from veridical.core.drawing import escaped
from veridical.report.audit.card.figures import NONE, plain_number
from veridical.report.audit.card.markup import Section, name, soft, table
from veridical.report.audit.card.specs import spec_link
from veridical.report.audit.record import Audit, Judge

KIND = "pos-importance"


def kinds(audit: Audit) -> Section:
    """The mean importance of a word of each part of speech, for each method."""
    judges = [judge for judge in audit.metrics if judge.kind == KIND]
    shown = "".join(_table(audit, judge) for judge in judges)
    links = ", ".join(spec_link(audit.metrics, judge.name) for judge in judges)
    intro = f"The mean importance (x100) of one word of each kind, over the documents that have some ({links})."
    return Section("kinds", "Kinds of words", shown, intro)


def _table(audit: Audit, judge: Judge) -> str:
    methods = [method.name for method in audit.methods]
    tags = sorted({tag for row in audit.rows if row.metric == judge.name for tag in row.details})
    means = {tag: [_mean(audit, tag, judge, method) for method in methods] for tag in tags}
    rows = [
        [escaped(tag), *(soft(NONE) if np.isnan(mean) else plain_number(100 * mean) for mean in means[tag])]
        for tag in tags
        if not np.isnan(means[tag]).all()
    ]
    return table(["Kind", *map(name, methods)], rows, "Mean importance of a word by kind and method") if rows else ""


def _mean(audit: Audit, tag: str, judge: Judge, method: str) -> float:
    values = audit.detail(tag, judge.name, method)
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
