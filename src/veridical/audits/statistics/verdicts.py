"""What to take from an audit in a few sentences, and what not to."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from veridical.audits.numbers import counted, listed, needed, number, probability, written
from veridical.audits.record import FLOOR, Audit, AuditedMethod
from veridical.audits.statistics.findings import ALPHA, Cell, MetricTable, Pair, Removal, plain
from veridical.audits.statistics.samples import fewest
from veridical.core.values import VALUE


def method_spec(method: AuditedMethod) -> Mapping[str, Any]:
    """The name and options of a method, from the spec of its explanations."""
    spec = method.spec.get("method", method.spec)
    return spec if isinstance(spec, Mapping) else {"name": spec}


def key(spec: Mapping[str, Any]) -> str:
    """The same text for equal specs, whether they come from memory or from a file."""
    return json.dumps(plain(spec), sort_keys=True)


def changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The options in which two specs differ: `eraser (delete, pad)`."""
    mine, theirs = plain(one), plain(other)
    names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    return ", ".join(f"{name} ({mine.get(name, 'none')}, {theirs.get(name, 'none')})" for name in names)


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


def cautions(audit: Audit, tables: Sequence[MetricTable]) -> tuple[str, ...]:
    """Everything to be careful about, the gravest first."""
    return (
        *(text for table in tables for text in _alarm(audit, table)),
        *_few(audit, tables),
        *_one_class(audit),
        *_same_texts(audit),
        *_undefined(tables),
        *(text for table in tables for text in _constant(audit, table)),
        *_same_eraser(audit),
    )


def _alarm(audit: Audit, table: MetricTable) -> Iterator[str]:
    """Methods whose mean is above 0 by a metric that should be 0: the whole interval is, so chance does not do it."""
    metric = audit.metric(table.metric)
    cells = [cell for cell in table.cells if cell.order == "given" and cell.low > 0]
    if metric.alarm and cells:
        methods = listed([f"{cell.method} {written(cell, metric)}" for cell in cells])
        yield f"{metric.alarm}: {methods} by {metric.name}."


def _few(audit: Audit, tables: Sequence[MetricTable]) -> Iterator[str]:
    pairs = max((len(table.pairs) for table in tables), default=0)
    if pairs and len(audit.documents) < fewest(ALPHA / pairs):
        given = f"{counted(len(audit.documents), 'document')} and {counted(pairs, 'pair')} of methods"
        least = f"at least {fewest(ALPHA / pairs)} documents are needed"
        yield f"With {given} nothing can be significant, however clear: {least}."


def _one_class(audit: Audit) -> Iterator[str]:
    targets = {document.target for document in audit.documents}
    gives_number = targets == {VALUE} and all(math.isnan(document.probability) for document in audit.documents)
    if len(audit.documents) > 1 and len(targets) == 1 and not gives_number:
        yield (
            f"Only one class, {targets.pop()}, is explained in all {len(audit.documents):,} documents: how the methods "
            "do on others is not known."
        )


def _same_texts(audit: Audit) -> Iterator[str]:
    """Documents that are labels of the same example depend on each other, which no interval knows."""
    examples = len({audit.example_of(document) for document in audit.documents})
    if examples < len(audit.documents):
        yield (
            f"The {len(audit.documents):,} documents are labels of {counted(examples, 'example')}: those of one "
            "example depend on each other, so intervals are too narrow and p-values too small."
        )


def _undefined(tables: Sequence[MetricTable]) -> Iterator[str]:
    """Metrics that are undefined for the same number of documents come in one sentence."""
    found: dict[str, list[str]] = {}
    for table in tables:
        cells = [cell for cell in table.cells if cell.order == "given" and cell.undefined]
        if cells:
            found.setdefault(_how_many(cells, len({cell.method for cell in table.cells})), []).append(table.metric)
    for which, metrics in found.items():
        verb = "is" if len(metrics) == 1 else "are"
        yield f"{listed(metrics)} {verb} undefined for {which}: means leave them out."


def _how_many(cells: Sequence[Cell], of: int) -> str:
    low, high = (pick(cell.undefined for cell in cells) for pick in (min, max))
    count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    whole = cells[0].undefined + cells[0].scored
    some = "" if len(cells) == of else f" with {listed([cell.method for cell in cells])}"
    return f"{count} of {whole:,} documents{some}"


def _constant(audit: Audit, table: MetricTable) -> Iterator[str]:
    cells = [cell for cell in table.cells if cell.order == "given" and cell.scored > 1]
    if len(cells) > 1 and all(_flat(cell) and np.isclose(cell.mean, cells[0].mean) for cell in cells):
        value = number(cells[0].mean, audit.metric(table.metric))
        yield f"{table.metric} is {value} for every document and method: here it cannot tell anything apart."


def _flat(cell: Cell) -> bool:
    return bool(cell.std < 1e-9)


def _same_eraser(audit: Audit) -> Iterator[str]:
    erasers = {method.name: method_spec(method).get("eraser") for method in audit.methods}
    for eraser in dict.fromkeys(each for each in erasers.values() if isinstance(each, str)):
        metrics = [metric.name for metric in audit.metrics if metric.eraser == eraser]
        if metrics:
            methods = listed([name for name, each in erasers.items() if each == eraser])
            yield (
                f"The judge is the trainer: {listed(metrics)} took words away by {eraser}, and so did {methods} to "
                "make the scores. Judge by another eraser, too."
            )
