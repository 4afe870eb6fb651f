"""Breakdowns by class and by length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from veridical.report.audit import Audit, Document
from veridical.report.audit.breakdown import breakdown, lengths

Make = Callable[..., Audit]

VALUES = {"aopc": {"lime": [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]}}


def means(audit: Audit, by: str) -> dict[str, tuple[float, int]]:
    parts = [part for part in breakdown(audit, "bootstrap") if part.by == by]
    return {part.group: (pytest.approx(part.estimate.mean), part.estimate.n) for part in parts}


def test_by_the_explained_class_where_there_are_no_labels(make_audit: Make) -> None:
    assert means(make_audit(VALUES), "class") == {"neg": (0.2, 3), "pos": (0.8, 3)}


def test_by_label_where_there_is_one_and_never_by_numbers(make_audit: Make) -> None:
    audit = make_audit(VALUES)
    labels = ["good", "good", "bad", None, 0.5, "bad"]
    documents = [replace(each, label=label) for each, label in zip(audit.documents, labels, strict=True)]
    found = means(replace(audit, documents=tuple(documents)), "class")
    assert found == {"good": (0.5, 2), "bad": (0.45, 2), "pos": (0.8, 1), "neg": (0.3, 1)}


def test_by_thirds_of_lengths(make_audit: Make) -> None:
    assert means(make_audit(VALUES), "length") == {
        "3 to 4 units": (0.5, 2),
        "5 to 6 units": (0.5, 2),
        "7 to 8 units": (0.5, 2),
    }


@pytest.mark.parametrize(
    ("units", "names"),
    [
        ([5, 5, 5, 5], []),
        ([5, 5, 5, 9], ["5 units", "9 units"]),
        ([1, 5, 5, 5, 5, 9], ["1 to 5 units", "9 units"]),
        ([], []),
    ],
)
def test_texts_of_one_length_are_never_torn_apart(make_audit: Make, units: list[int], names: list[str]) -> None:
    documents = tuple(Document(str(index), "pos", count) for index, count in enumerate(units))
    groups = lengths(make_audit(VALUES, documents=documents))
    assert [group.name for group in groups] == names
    assert sum(group.members.sum() for group in groups) == (len(units) if names else 0)


def test_one_class_is_no_breakdown(make_audit: Make) -> None:
    audit = make_audit(VALUES)
    assert not means(replace(audit, documents=tuple(replace(each, target="pos") for each in audit.documents)), "class")
