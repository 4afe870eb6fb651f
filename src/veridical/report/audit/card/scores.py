"""The scores: one table of all, then each metric with its intervals, its checks and every pair of methods."""

from __future__ import annotations

import math

from veridical.core.drawing import escaped
from veridical.report.audit.card.figures import (
    NONE,
    arrow,
    direction,
    interval,
    needed,
    p_value,
    plain_number,
    score,
    unit,
)
from veridical.report.audit.card.markup import Section, details, mark, name, soft, table, under
from veridical.report.audit.card.specs import spec_link
from veridical.report.audit.findings import Cell, Contrast, Pair, Sanity, Summary, Table
from veridical.report.audit.record import FLOOR, Audit, Judge
from veridical.report.audit.writing import counted, printed, probability
from veridical.report.plots import Dot, dots

BEST, BEATS, FAILS = "●", "†", "⚠"
BEST_MEANS = "best, or cannot be told apart from the best"
BEATS_MEANS = f"better than {FLOOR}, significant after Holm's correction"
FAILS_MEANS = "cannot be told from its own order reversed, or is worse"


def overview(audit: Audit, summary: Summary) -> Section:
    """All metrics by all methods, in one table: along a row numbers mean the same."""
    methods = methods_of(audit)
    rows = [
        [_heading(audit, each), *(_overview_cell(audit, each, method) for method in methods)] for each in summary.tables
    ]
    head = ["Metric", *map(name, methods)]
    shown = table(head, rows, "Mean and 95% interval of every metric and method") + _legend() if rows else ""
    return Section("scores", "All scores", shown, _how(summary))


def metrics(audit: Audit, summary: Summary) -> Section:
    """Each metric by itself."""
    blocks = "".join(_metric(audit, found, index) for index, found in enumerate(summary.tables, start=1))
    return Section("metrics", "Metric by metric", blocks)


def methods_of(audit: Audit) -> list[str]:
    """The methods as audited, the floor last."""
    return sorted((each.name for each in audit.methods), key=lambda method: method == FLOOR)


def _how(summary: Summary) -> str:
    return f"Means over documents with 95% {summary.interval} intervals."


def _legend() -> str:
    return (
        f'<p class="legend">{BEST} {BEST_MEANS}. {BEATS} {BEATS_MEANS}. '
        f"↑ higher is better, ↓ lower is better. Each metric's name leads to its spec.</p>"
    )


def _heading(audit: Audit, found: Table) -> str:
    judge = audit.metric(found.metric)
    return f"{spec_link(audit.metrics, judge.name, judge.name)}\u00a0{arrow(judge)}{unit(judge)}"


def _overview_cell(audit: Audit, found: Table, method: str) -> str:
    cell, judge = found.cell(method), audit.metric(found.metric)
    if cell is None:
        return soft("not measured")
    shown = under(_marked(cell, judge, found), interval(cell.low, cell.high, judge))
    return f'<div class="quiet">{shown}</div>' if method == FLOOR else shown


def _marked(cell: Cell, judge: Judge, found: Table) -> str:
    best = cell.method in found.best
    number = score(cell.mean, judge)
    return (
        mark(BEST if best else "", BEST_MEANS)
        + (f"<strong>{number}</strong>" if best else number)
        + mark(BEATS if cell.beats_floor else "", BEATS_MEANS)
    )


def _metric(audit: Audit, found: Table, index: int) -> str:
    judge = audit.metric(found.metric)
    meaning = f"<p>{escaped(judge.meaning)} {soft(direction(judge).capitalize() + '.')}</p>"
    weakness = f'<p class="soft">What it cannot show: {escaped(judge.weakness)}</p>' if judge.weakness else ""
    return (
        f'<article id="metric-{index}"><div class="top"><h3>{name(judge.name)}</h3>'
        f'<div class="id">{spec_link(audit.metrics, judge.name)}</div></div>{meaning}'
        f"{_cells(audit, found, judge)}{_notes(found)}{weakness}{_pairs(found, judge)}</article>\n"
    )


def _cells(audit: Audit, found: Table, judge: Judge) -> str:
    cells = [cell for method in methods_of(audit) if (cell := found.cell(method)) is not None]
    floor = [printed(cell.mean, judge) for cell in cells if cell.method == FLOOR]
    axis, drawn = dots([_dot(cell, judge) for cell in cells], FLOOR, *floor)
    head = ["Method", f"Mean{unit(judge)}", "95% interval", axis, "Scored", "Undefined", "Reversed", f"Against {FLOOR}"]
    checks = {each.method: each for each in found.sanity}
    rows = [
        _cell_row(cell, judge, found, strip, checks.get(cell.method)) for cell, strip in zip(cells, drawn, strict=True)
    ]
    quiet = {index for index, cell in enumerate(cells) if cell.method == FLOOR}
    return table(head, rows, f"{judge.name}: {direction(judge)}", words={3, 7}, quiet=quiet)


def _dot(cell: Cell, judge: Judge) -> Dot:
    return Dot(cell.method, *(printed(each, judge) for each in (cell.mean, cell.low, cell.high)))


def _cell_row(cell: Cell, judge: Judge, found: Table, strip: str, check: Sanity | None) -> list[str]:
    return [
        name(cell.method),
        _marked(cell, judge, found),
        interval(cell.low, cell.high, judge),
        strip,
        f"{cell.scored:,}",
        f"{cell.undefined:,}",
        _reversed(cell, judge, check.reversed if check else None),
        _against(check.floor if check else None),
    ]


def _reversed(cell: Cell, judge: Judge, contrast: Contrast | None) -> str:
    if math.isnan(cell.reversed_mean):
        return soft(NONE)
    fails = contrast is not None and contrast.verdict != "first better" and cell.method != FLOOR
    return mark(FAILS if fails else "", FAILS_MEANS) + score(cell.reversed_mean, judge)


def _against(contrast: Contrast | None) -> str:
    if contrast is None:
        return soft(NONE)
    words = {"first better": "better", "second better": "worse", "cannot tell": "cannot tell"}[contrast.verdict]
    return f"{words}{soft(', ' + escaped(probability(contrast.adjusted)))}"


def _notes(found: Table) -> str:
    """What the signs of this table mean, those that occur in it."""
    given = [cell for cell in found.cells if cell.order == "given"]
    failing = any(
        each.reversed is not None and each.reversed.verdict != "first better"
        for each in found.sanity
        if each.method != FLOOR
    )
    signs = [(BEST, BEST_MEANS, bool(found.best)), (BEATS, BEATS_MEANS, any(cell.beats_floor for cell in given))]
    told = [f"{sign} {meaning}." for sign, meaning, used in [*signs, (FAILS, FAILS_MEANS, failing)] if used]
    return f'<p class="legend">{" ".join(told)}</p>' if told else ""


def _pairs(found: Table, judge: Judge) -> str:
    if not found.pairs:
        return ""
    told = sum(pair.better is not None for pair in found.pairs)
    summary = f"All pairs of methods: {told} of {len(found.pairs)} told apart"
    head = ["Methods", "Verdict", "Difference", "95% interval", "p", "p after Holm", "Rank-biserial", "Cohen's d", "n"]
    rows = [_pair_row(pair, judge) for pair in found.pairs]
    note = (
        f'<p class="legend">Difference: first minus second{unit(judge)}, paired by document. p: signed-rank test; '
        f"Holm's correction over the {counted(len(found.pairs), 'pair')} of this table. Documents needed: for 80% "
        f"power at the effect seen here.</p>"
    )
    return details(summary, table([*head, "Documents needed"], rows, summary, words={1}) + note)


def _pair_row(pair: Pair, judge: Judge) -> list[str]:
    found = pair.contrast
    return [
        f"{name(pair.first)} {soft('and')} {name(pair.second)}",
        f"<strong>{name(pair.better)}</strong> better" if pair.better else "cannot tell",
        score(found.mean, judge),
        interval(found.low, found.high, judge),
        escaped(p_value(found.p)),
        escaped(p_value(found.adjusted)),
        plain_number(found.rank_biserial),
        plain_number(found.cohen),
        f"{found.n:,}",
        needed(found),
    ]
