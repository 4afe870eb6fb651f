"""What was measured, put together with what a reader needs to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veridical.core.example import Example
from veridical.core.files.rows import spec_data
from veridical.metrics import METRICS, CorpusMetric, Metric
from veridical.report.audit import Document, Judge
from veridical.report.audit.record import MODEL
from veridical.run.audit.scored import Method, content_hash


def documents_of(examples: Sequence[Example], methods: Sequence[Method], judged: set[str]) -> tuple[Document, ...]:
    """The documents that some metric has a row for, in the order of the examples."""
    found = []
    for example in examples:
        scored = next((method.scored[example.id] for method in methods if example.id in method.scored), None)
        if scored is not None and example.id in judged:
            units, digest = len(scored.scores), content_hash(example.inputs)
            found.append(Document(example.id, scored.target, units, example.label, scored.probability, digest))
    return tuple(found)


def judge_of(metric: Metric | CorpusMetric, steps: tuple[float, ...]) -> Judge:
    """What an audit says of a metric; `steps` are the points of its curves."""
    return Judge(
        name=METRICS.written(metric),
        spec=spec_data(METRICS.spec(metric)),
        greater_is_better=metric.greater_is_better,
        percent=metric.percent,
        meaning=metric.meaning,
        weakness=metric.weakness,
        comparable=metric.comparable,
        steps=steps,
    )


def warnings_about(methods: Sequence[Method]) -> Iterator[str]:
    """What the scores themselves make doubtful."""
    for method in [each for each in methods if each.name != MODEL]:
        flat = [example for example, scored in method.scored.items() if not scored.scores.any()]
        if flat:
            where = f"in {len(flat):,} document{'s' * (len(flat) != 1)} ({_some(flat)})"
            yield f"{method.name} scores every word 0 {where}: the order that was judged is that of the text."
    cut = sorted({example for method in methods for example, scored in method.scored.items() if scored.truncated})
    if cut:
        texts = "1 text was" if len(cut) == 1 else f"{len(cut):,} texts were"
        yield f"{texts} longer than the model reads, and cut ({_some(cut)}). long='window' reads all."


def _some(examples: Sequence[str]) -> str:
    return ", ".join(examples[:3]) + (", ..." if len(examples) > 3 else "")
