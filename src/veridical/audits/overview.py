"""What can be said of documents and scores before any metric judges them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from veridical.audits.method_scores import MethodScores, Targets
from veridical.audits.record import MODEL, Document
from veridical.audits.statistics.agreement import agreement
from veridical.audits.statistics.findings import Agreement
from veridical.core.example import Example, content_hash

_TOP = 0.25
"""The share of the words of a text that count as its first words."""


def documents_of(
    examples: Sequence[Example], targets: Targets, methods: Sequence[MethodScores], judged: Container[str]
) -> tuple[Document, ...]:
    """The documents with an id among the `judged` ones, in the order of the examples."""
    found = []
    for example, target in ((each, target) for each in examples for target in targets.get(each.id, ())):
        place = (example.id, target)
        scored = next((method.scored[place] for method in methods if place in method.scored), None)
        if scored is not None and scored.document in judged:
            units, digest = len(scored.scores), content_hash(example.inputs)
            found.append(Document(scored.document, target, units, example.label, scored.probability, digest))
    return tuple(found)


def likeness_of(methods: Sequence[MethodScores], documents: Sequence[Document]) -> Agreement | None:
    """How many of their first words methods share, over the documents that all of them explain."""
    scores = {
        method.name: {scored.document: scored.scores.tolist() for scored in method.scored.values()}
        for method in methods
        if method.scored and method.name != MODEL
    }
    shared = [each.id for each in documents if all(each.id in found for found in scores.values())]
    if len(scores) < 2 or not shared:
        return None
    values = agreement({name: [found[id] for id in shared] for name, found in scores.items()}, _TOP)
    meaning = f"The share of their first {_TOP:.0%} of words that two methods have in common (Jaccard)."
    return Agreement("top words", meaning, tuple(scores), tuple(tuple(row) for row in values.tolist()))


def warnings_about(methods: Sequence[MethodScores]) -> Iterator[str]:
    """What makes the scores themselves doubtful."""
    for method in [each for each in methods if each.name != MODEL]:
        flat = [scored.document for scored in method.scored.values() if not scored.scores.any()]
        if flat:
            where = f"in {len(flat):,} document{'s' * (len(flat) != 1)} ({_some(flat)})"
            yield f"{method.name} scores every word 0 {where}: the order that was judged is that of the text."
    cut = sorted({example for method in methods for (example, _), each in method.scored.items() if each.truncated})
    if cut:
        texts = "1 text was" if len(cut) == 1 else f"{len(cut):,} texts were"
        yield f"{texts} longer than the model reads, and cut ({_some(cut)}). long='window' reads all."


def _some(examples: Sequence[str]) -> str:
    return ", ".join(examples[:3]) + (", ..." if len(examples) > 3 else "")
