"""How a model stands up to an attack, where an audit has one."""

from __future__ import annotations

from veridical.report.audit.attack import AttackStatistics, attack_statistics
from veridical.report.audit.card.figures import amount, plain_number
from veridical.report.audit.card.markup import Section, name, table
from veridical.report.audit.card.specs import spec_link
from veridical.report.audit.record import MODEL, Audit, Judge

KIND = "attack"
_DETAILS = ("right", "queries", "perturbed", "words")


def attacks(audit: Audit) -> Section:
    """A row for each attack: how often the model was right before and after, and what that took."""
    judges = [judge for judge in audit.metrics if judge.kind == KIND and audit.has(judge.name, MODEL)]
    head = [
        "Attack",
        "Attacked",
        "Fooled",
        "Success %",
        "Right before %",
        "Right after %",
        "Changed words %",
        "Queries",
    ]
    shown = table(head, [_row(audit, judge) for judge in judges], "Attacks on the model") if judges else ""
    links = ", ".join(spec_link(audit.metrics, judge.name) for judge in judges)
    intro = f"Names, places, numbers and contractions are rewritten until the model errs ({links})."
    return Section("attacks", "Can the model be fooled?", shown, intro)


def _row(audit: Audit, judge: Judge) -> list[str]:
    values = audit.values(judge.name, MODEL)
    found = attack_statistics(values, {each: audit.detail(each, judge.name, MODEL) for each in _DETAILS})
    return [name(judge.name), *_cells(found)]


def _cells(found: AttackStatistics) -> list[str]:
    shares = (found.success_rate, found.original_accuracy, found.accuracy_under_attack, found.perturbed)
    return [
        amount(found.successes + found.failures),
        amount(found.successes),
        *(plain_number(100 * share, 1) for share in shares),
        amount(found.queries),
    ]
