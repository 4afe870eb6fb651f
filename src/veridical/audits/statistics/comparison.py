"""Two audits side by side: what can be compared, the differences, and what to take from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from veridical.audits.numbers import listed, needed, number, probability
from veridical.audits.record import Audit, AuditedMethod, AuditedMetric, Document
from veridical.audits.statistics.findings import Comparison, Difference
from veridical.audits.statistics.samples import Numbers, estimates
from veridical.audits.statistics.summary import contrasts
from veridical.audits.statistics.verdicts import changes, key, method_spec
from veridical.core.errors import InputError

T = TypeVar("T", AuditedMetric, AuditedMethod)
Spec = Mapping[str, Any]

_REMEDY = "Audit both models on the same data."

_MUST_AGREE = {
    "target": "explain another target",
    "units": "score other units",
    "hold": "leave another field unscored",
}
"""Settings of two audits that make their numbers answers to different questions, and what differing in each means."""


@dataclass(frozen=True)
class Matched(Generic[T]):
    """Pairs of equal specs, and of each thing without a counterpart why it has none."""

    pairs: tuple[tuple[T, T], ...]
    left_out: Mapping[str, str]


def check_comparable(one: Audit, other: Audit) -> None:
    """Refuse audits whose numbers are answers to different questions, whatever the models are like."""
    mine, theirs = _settings(one), _settings(other)
    for name, meaning in _MUST_AGREE.items():
        if name in mine and name in theirs and mine[name] != theirs[name]:
            raise InputError(
                f"the audits {meaning}: {name} is {mine[name]!r} in the first and {theirs[name]!r} in the second",
                remedy=f"Audit both models with the same {name}.",
            )


def _settings(audit: Audit) -> Mapping[str, Any]:
    """What an audit says of what was asked, and of how its model reads."""
    return {**audit.model, **audit.settings}


def shared_documents(one: Audit, other: Audit) -> list[str]:
    """The ids of documents that both audits have; the same id must stand for the same document."""
    theirs = {document.id: document for document in other.documents}
    shared = [document for document in one.documents if document.id in theirs]
    if not shared:
        problem = f"the audits share no document: one is of {one.data}, the other of {other.data}"
        raise InputError(problem, remedy=_REMEDY)
    for document in shared:
        _check(document, theirs[document.id])
    return [document.id for document in shared]


def match_metrics(one: Audit, other: Audit) -> Matched[AuditedMetric]:
    """Metrics with the same options in both audits."""
    return _match(one.metrics, other.metrics, lambda audited: audited.spec)


def match_methods(one: Audit, other: Audit) -> Matched[AuditedMethod]:
    """Methods with the same options in both audits, and explanations of the same target."""
    return _match(one.methods, other.methods, lambda method: {**method_spec(method), **_own_target(method)})


def _own_target(method: AuditedMethod) -> Spec:
    """What was asked to be explained, if the spec says it; a file of explanations may have another target."""
    return {"target": method.spec["target"]} if "target" in method.spec else {}


def _check(mine: Document, theirs: Document) -> None:
    if mine.digest and theirs.digest and mine.digest != theirs.digest:
        raise InputError("the two audits have different texts under this id", example=mine.id, remedy=_REMEDY)
    if mine.label is not None and theirs.label is not None and mine.label != theirs.label:
        problem = f"it is {mine.label!r} in one audit and {theirs.label!r} in the other"
        raise InputError(problem, example=mine.id, field="label", remedy=_REMEDY)


def _match(mine: Sequence[T], theirs: Sequence[T], spec: Callable[[T], Spec]) -> Matched[T]:
    ours, known = {key(spec(each)) for each in mine}, {key(spec(each)): each for each in theirs}
    pairs = tuple((each, known[key(spec(each))]) for each in mine if key(spec(each)) in known)
    odd = {each.name: _why(spec(each), theirs, spec, "first") for each in mine if key(spec(each)) not in known}
    odd |= {each.name: _why(spec(each), mine, spec, "second") for each in theirs if key(spec(each)) not in ours}
    return Matched(pairs, odd)


def _why(lonely: Spec, others: Sequence[T], spec: Callable[[T], Spec], place: str) -> str:
    for other in (spec(each) for each in others):
        if lonely.get("name") == other.get("name"):
            first, second = (lonely, other) if place == "first" else (other, lonely)
            return f"the audits differ in {changes(first, second)}"
    return f"only the {place} audit has it"


REMEDY = "normalised-aopc"
"""The metric whose values of different models can be compared where raw ones cannot."""


def compare(one: Audit, other: Audit, likeness: Mapping[str, float] | None = None) -> Comparison:
    """Compare two audits document by document, by metrics and methods of equal specs.

    `likeness` of the explanations of the two models, by method, comes from outside: rows do not have scores.
    """
    check_comparable(one, other)
    shared = shared_documents(one, other)
    metrics, methods = match_metrics(one, other), match_methods(one, other)
    cells = [
        _Cell(audited, method.name, _values(one, audited, method.name, shared), _values(other, its, same.name, shared))
        for audited, its in metrics.pairs
        for method, same in methods.pairs
    ]
    differences = _differences([cell for cell in cells if cell.scored])
    audited_metrics = tuple(audited for audited, _ in metrics.pairs)
    return Comparison(
        first=one.model_name,
        second=other.model_name,
        data=one.data,
        documents=len(shared),
        metrics=audited_metrics,
        differences=differences,
        left_out={**metrics.left_out, **methods.left_out},
        likeness=dict(likeness or {}),
        verdict=_verdict(one, other, len(shared), differences),
        warnings=(
            *_raw(audited_metrics),
            *_partly(one, other, len(shared)),
            *_precisions(one, other, methods.pairs),
            *_empty(cells),
        ),
    )


@dataclass(frozen=True)
class _Cell:
    """A method by a metric on the documents that two audits share."""

    audited: AuditedMetric
    method: str
    first: Numbers
    second: Numbers

    @property
    def scored(self) -> bool:
        return not np.isnan(self.first - self.second).all()


def _values(audit: Audit, audited: AuditedMetric, method: str, shared: Sequence[str]) -> Numbers:
    values = audit.values(audited.name, method)
    places = {document.id: place for place, document in enumerate(audit.documents)}
    return values[[places[each] for each in shared]]


def _differences(cells: Sequence[_Cell]) -> tuple[Difference, ...]:
    greater = [cell.audited.greater_is_better for cell in cells]
    found = contrasts([cell.first - cell.second for cell in cells], greater)
    first = estimates([cell.first for cell in cells])
    second = estimates([cell.second for cell in cells])
    rows = zip(cells, first, second, found, strict=True)
    return tuple(Difference(cell.audited.name, cell.method, a, b, contrast) for cell, a, b, contrast in rows)


def _raw(audited_metrics: Sequence[AuditedMetric]) -> Iterator[str]:
    names = [audited.name for audited in audited_metrics if not audited.comparable]
    if names:
        yield (
            f"Values of {listed(names)} depend on how sure a model is of itself, so they do not rank models. Compare "
            f"by {REMEDY}, which is relative to the best and worst that each model allows."
        )


def _partly(one: Audit, other: Audit, shared: int) -> Iterator[str]:
    counts = len(one.documents), len(other.documents)
    if one.model.get("fingerprint") and one.model.get("fingerprint") == other.model.get("fingerprint"):
        yield "Both audits are of the same model."
    if one.data != other.data:
        yield f"The names of the data differ: {one.data} and {other.data}."
    if shared < max(counts):
        yield f"Only the {shared:,} documents in both audits are compared, of {counts[0]:,} and {counts[1]:,}."


def _precisions(one: Audit, other: Audit, methods: Sequence[tuple[AuditedMethod, AuditedMethod]]) -> Iterator[str]:
    """Whether the model of one audit was run with less precise numbers, for judging or for explaining."""
    asked = [(one.settings, other.settings), *((mine.spec, theirs.spec) for mine, theirs in methods)]
    found = {tuple(str(spec.get("precision") or "") for spec in pair) for pair in asked}
    for first, second in sorted((a, b) for a, b in found if a and b and a != b):
        yield (
            f"The first audit ran its model in {first}, the second in {second}: small differences may come from that. "
            "Audit both in the same precision."
        )


def _empty(cells: Sequence[_Cell]) -> Iterator[str]:
    names = [f"{cell.method} by {cell.audited.name}" for cell in cells if not cell.scored]
    if names:
        yield f"No document is scored in both audits for {listed(names)}: not compared."


def _verdict(one: Audit, other: Audit, shared: int, found: Sequence[Difference]) -> tuple[str, ...]:
    if not found:
        return (f"Nothing can be compared on {shared:,} documents: see what was left out, and why.",)
    first, second = (sum(each.contrast.verdict == f"{place} better" for each in found) for place in ("first", "second"))
    return (
        f"On {shared:,} documents of {one.data}, the first model ({one.model_name}) is better in {first} of "
        f"{len(found)} comparisons, the second ({other.model_name}) in {second}; {len(found) - first - second} cannot "
        "be told.",
        *_clearest(one, found),
        *_doubtful(found),
    )


def _clearest(audit: Audit, found: Sequence[Difference]) -> Iterator[str]:
    told = [each for each in found if each.contrast.verdict != "cannot tell"]
    for each in sorted(told, key=lambda each: -abs(each.contrast.rank_biserial))[:1]:
        audited, p = audit.metric(each.metric), probability(each.contrast.adjusted)
        means = f"{number(each.first.mean, audited)} against {number(each.second.mean, audited)}"
        told_apart = f"{means}, {each.contrast.verdict} (corrected {p})"
        yield f"The clearest difference is {each.method} by {each.metric}: {told_apart}."


def _doubtful(found: Sequence[Difference]) -> Iterator[str]:
    unclear = [each for each in found if each.contrast.verdict == "cannot tell"]
    for each in sorted(unclear, key=lambda each: each.contrast.adjusted)[:1]:
        p, remedy = probability(each.contrast.adjusted), needed(each.contrast)
        yield f"The nearest to being told is {each.method} by {each.metric} (corrected {p}): {remedy}."
