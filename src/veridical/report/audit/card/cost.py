"""What explanations cost, and what the audit itself asked of the model."""

from __future__ import annotations

from veridical.core.drawing import escaped
from veridical.report.audit.card.figures import NONE, amount
from veridical.report.audit.card.markup import Section, name, soft, table
from veridical.report.audit.record import Audit

_KNOWN = ("queries", "forwards", "backwards", "seconds")


def cost(audit: Audit) -> Section:
    """Means per document of each method, and how many of the inputs asked for had to be run."""
    found = list(dict.fromkeys(kind for method in audit.methods for kind in method.costs))
    kinds = [kind for kind in _KNOWN if kind in found] + [kind for kind in found if kind not in _KNOWN]
    rows = [
        [name(method.name), *(amount(method.costs[kind]) if kind in method.costs else soft(NONE) for kind in kinds)]
        for method in audit.methods
    ]
    head = ["Per document", *(escaped(kind.capitalize()) for kind in kinds)]
    shown = table(head, rows, "Cost of each method per document") if kinds else ""
    return Section("cost", "Cost", shown + _work(audit))


def _work(audit: Audit) -> str:
    asked, ran = audit.work.get("queries", 0), audit.work.get("forwards", 0)
    if not asked:
        return ""
    return (
        f"<p>To judge them, the audit asked the model {asked:,} questions and ran {ran:,} inputs ({ran / asked:.0%}): "
        f"the same input is asked once.</p>"
    )
