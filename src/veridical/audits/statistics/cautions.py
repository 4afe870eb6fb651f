"""What not to take from an audit: everything that makes its numbers say less than they seem to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from veridical.audits.numbers import counted, listed, number
from veridical.audits.record import Audit
from veridical.audits.statistics.findings import ALPHA, Cell, MetricTable
from veridical.audits.statistics.samples import fewest
from veridical.audits.statistics.specs import method_spec


def cautions(audit: Audit, tables: Sequence[MetricTable]) -> tuple[str, ...]:
    """Everything to be careful about, the gravest first."""
    return (
        *_few(audit, tables),
        *_one_class(audit),
        *_same_texts(audit),
        *_undefined(tables),
        *(text for table in tables for text in _constant(audit, table)),
        *_same_eraser(audit),
    )


def _few(audit: Audit, tables: Sequence[MetricTable]) -> Iterator[str]:
    pairs = max((len(table.pairs) for table in tables), default=0)
    if pairs and len(audit.documents) < fewest(ALPHA / pairs):
        given = f"{counted(len(audit.documents), 'document')} and {counted(pairs, 'pair')} of methods"
        least = f"at least {fewest(ALPHA / pairs)} documents are needed"
        yield f"With {given} nothing can be significant, however clear: {least}."


def _one_class(audit: Audit) -> Iterator[str]:
    targets = {document.target for document in audit.documents}
    if len(audit.documents) > 1 and len(targets) == 1:
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
    for eraser in dict.fromkeys(each for each in erasers.values() if each is not None):
        metrics = [metric.name for metric in audit.metrics if metric.eraser == eraser]
        if metrics:
            methods = listed([name for name, each in erasers.items() if each == eraser])
            yield (
                f"The judge is the trainer: {listed(metrics)} took words away by {eraser}, and so did {methods} to "
                "make the scores. Judge by another eraser, too."
            )
