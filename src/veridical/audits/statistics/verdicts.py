"""What to take from an audit, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veridical.audits.numbers import counted, listed, needed, number, probability, written
from veridical.audits.record import FLOOR, Audit
from veridical.audits.statistics.findings import Cell, MetricTable, Pair, Removal

_FEW = 2


def verdicts(audit: Audit, tables: Sequence[MetricTable], removals: Sequence[Removal]) -> tuple[str, ...]:
    """What to take from an audit. The first metric that scored anything leads; the others confirm or contradict it."""
    scored = [table for table in tables if table.best]
    if not scored:
        return (f"Nothing could be measured on {counted(len(audit.documents), 'document')} of {audit.data}.",)
    lead, *others = scored
    return (
        _headline(audit, lead),
        *_doubts(lead),
        *_others(audit, lead.best[0], others),
        *_floor(audit, scored),
        *_turned(audit, scored),
        *_removal(removals),
    )


def _headline(audit: Audit, table: MetricTable) -> str:
    best, metric = table.best[0], audit.metric(table.metric)
    direction = "" if metric.greater_is_better else " where lower is better"
    start = f"On {counted(len(audit.documents), 'document')} of {audit.data}, {best} does best by {table.metric}"
    return f"{start}, {written(_cell(table, best), metric)}{direction}{_beaten(table, best)}."


def _beaten(table: MetricTable, best: str) -> str:
    pairs = [pair for pair in table.pairs if pair.better == best]
    if not pairs:
        return ", but is not better than any other method" if table.pairs else ", with nothing to compare it with"
    worst = max(pair.contrast.adjusted for pair in pairs)
    others = [_other(pair, best) for pair in pairs]
    return f": better than {listed(others)} (corrected {probability(worst)})"


def _doubts(table: MetricTable) -> Iterator[str]:
    """What the leading metric cannot tell from its best method."""
    best, level = table.best[0], set(table.best[1:])
    pairs = [pair for pair in table.pairs if best in (pair.first, pair.second) and _other(pair, best) in level]
    parts = [
        f"{_other(pair, best)} (corrected {probability(pair.contrast.adjusted)}; {needed(pair.contrast)})"
        for pair in pairs
    ]
    if parts:
        yield f"By {table.metric}, cannot tell {best} from {listed(parts)}."


def _others(audit: Audit, best: str, tables: Sequence[MetricTable]) -> Iterator[str]:
    """Whether the other metrics agree on the best method."""
    against = [table for table in tables if best not in table.best and table.cell(best)]
    agree = sum(best in table.best for table in tables)
    if tables:
        start = f"By {agree} of {len(tables)} other metrics {best} is best too, or cannot be told from the best"
        parts = [_rival(audit, table, best) for table in against]
        yield f"{start}; it is not by {listed(parts, _FEW)}." if parts else f"{start}."


def _rival(audit: Audit, table: MetricTable, best: str) -> str:
    metric, rival = audit.metric(table.metric), table.best[0]
    means = [number(_cell(table, method).mean, metric) for method in (rival, best)]
    return f"{table.metric} ({rival} {means[0]}, {best} {means[1]})"


def _floor(audit: Audit, tables: Sequence[MetricTable]) -> Iterator[str]:
    """Which methods are not better than chance."""
    asked = [(table, cell) for table in tables for cell in table.cells if cell.beats_floor is not None]
    methods = [method.name for method in audit.methods]
    short = {name: [at for at in asked if at[1].method == name and not at[1].beats_floor] for name in methods}
    parts = [_short(audit, name, cells) for name, cells in short.items() if cells]
    if parts:
        yield f"Not better than {FLOOR}: {listed(parts)}."
    elif asked:
        yield f"All methods are better than {FLOOR} by every metric, in {counted(len(asked), 'comparison')}."


def _short(audit: Audit, name: str, cells: Sequence[tuple[MetricTable, Cell]]) -> str:
    table, cell = cells[0]
    metric = audit.metric(table.metric)
    means = f"{number(cell.mean, metric)} against {number(_cell(table, FLOOR).mean, metric)}"
    more = f", and by {len(cells) - 1} more" if len(cells) > 1 else ""
    return f"{name} by {table.metric} ({means}{more})"


def _turned(audit: Audit, tables: Sequence[MetricTable]) -> Iterator[str]:
    """Metrics that see no difference when an order is reversed, or see it the wrong way round."""
    blind = [table.metric for table in tables if _blind(table)]
    wrong = [part for table in tables for part in _wrong(audit, table)]
    parts = [f"cannot tell any method from its own order reversed by {listed(blind)}"] if blind else []
    parts += [f"worse than in reversed order: {listed(wrong)}"] if wrong else []
    if parts:
        text = "; ".join(parts)
        yield f"{text[0].upper()}{text[1:]}."


def _blind(table: MetricTable) -> bool:
    asked = [each.reversed for each in table.sanity if each.reversed]
    return bool(asked) and all(each.verdict == "cannot tell" for each in asked)


def _wrong(audit: Audit, table: MetricTable) -> Iterator[str]:
    metric = audit.metric(table.metric)
    for each in table.sanity:
        if each.reversed and each.reversed.verdict == "second better":
            cell = _cell(table, each.method)
            means = f"{number(cell.mean, metric)} against {number(cell.reversed_mean, metric)}"
            yield f"{each.method} by {table.metric} ({means})"


def _removal(removals: Sequence[Removal]) -> Iterator[str]:
    """Whether the best method depends on how words are taken away; what does not survive comes first."""
    for each in sorted(removals, key=lambda removal: removal.survives)[:1]:
        lowest = min(min(row) for row in each.kendall)
        tau = (
            f"Kendall's tau between rankings {'at least ' if len(each.rankings) > 2 and lowest < 1 else ''}{lowest:.2f}"
        )
        if each.survives:
            erasers = listed([ranking.eraser for ranking in each.rankings])
            yield f"The best by {each.kind} stays {each.rankings[0].methods[0]} under {erasers} ({tau})."
        else:
            tops = listed([f"{ranking.methods[0]} under {ranking.eraser}" for ranking in each.rankings])
            yield f"The best by {each.kind} depends on how words are removed: {tops} ({tau})."


def _other(pair: Pair, name: str) -> str:
    return pair.second if pair.first == name else pair.first


def _cell(table: MetricTable, method: str) -> Cell:
    return next(cell for cell in table.cells if (cell.method, cell.order) == (method, "given"))
