"""What two audits have in common: the same documents, and metrics and methods of equal specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from veridical.core.errors import InputError
from veridical.report.audit.record import Audit, Document, Judge, Suspect
from veridical.report.audit.specs import changes, key, method_spec

T = TypeVar("T", Judge, Suspect)
Spec = Mapping[str, Any]

_REMEDY = "Audit both models on the same data."


@dataclass(frozen=True)
class Matched(Generic[T]):
    """Pairs of equal specs, and of each thing without a counterpart why it has none."""

    pairs: tuple[tuple[T, T], ...]
    left_out: Mapping[str, str]


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


def match_metrics(one: Audit, other: Audit) -> Matched[Judge]:
    """Metrics with the same options in both audits."""
    return _match(one.metrics, other.metrics, lambda judge: judge.spec)


def match_methods(one: Audit, other: Audit) -> Matched[Suspect]:
    """Methods with the same options in both audits."""
    return _match(one.methods, other.methods, method_spec)


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
