"""Explanations compared with each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from veridical.audits import Audit
from veridical.audits.statistics.groups import agreement, agreements, jaccard
from veridical.core.errors import InputError

ONE, OTHER = (4.0, 3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0), (4.0, 0.0, 3.0, 1.0, 0.0, -1.0, -2.0, -3.0)


def test_the_first_quarter():
    assert jaccard(ONE, OTHER) == pytest.approx(1 / 3)  # 2 of 8 words; they share the first
    assert jaccard(ONE, OTHER, ratio=1.0) == 1


def test_the_same_is_1_and_the_measure_is_symmetric():
    assert jaccard(ONE, ONE) == 1
    assert jaccard(ONE, OTHER) == jaccard(OTHER, ONE)


def test_counts_are_rounded_up_and_at_least_1():
    assert jaccard((2.0, 1.0, 0.0), (2.0, 0.0, 1.0)) == 1  # one word of 3
    assert jaccard((5.0, 4.0, 0.0, 0.0, 0.0), (5.0, 0.0, 4.0, 0.0, 0.0)) == pytest.approx(1 / 3)  # two of 5


def test_what_chance_reaches():
    chance = np.random.RandomState(0)
    found = [jaccard(*chance.rand(2, 20)) for _ in range(2000)]
    assert np.mean(found) == pytest.approx(0.15, abs=0.01)


def test_a_document_without_words_has_no_likeness():
    assert math.isnan(jaccard((), ()))


def test_agreement_is_the_mean_of_all_pairs():
    chance = np.random.RandomState(0)
    sizes = chance.randint(1, 40, 50)
    methods = {name: [tuple(chance.randint(-3, 4, size) / 2) for size in sizes] for name in "abc"}
    found = agreement(methods, 0.25)
    for row, one in enumerate(methods.values()):
        for column, other in enumerate(methods.values()):
            expected = np.mean([jaccard(x, y) for x, y in zip(one, other, strict=True)])
            assert found[row, column] == pytest.approx(expected)


def test_documents_without_words_do_not_count():
    assert agreement({"a": [(), (1.0, 0.0)], "b": [(), (1.0, 0.0)]}).tolist() == [[1, 1], [1, 1]]
    assert np.isnan(agreement({"a": [()], "b": [()]})).all()


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="different numbers of scores: 2, 1"):
        jaccard((1.0, 2.0), (1.0,))
    with pytest.raises(InputError, match="a has 1, b has 2"):
        agreement({"a": [(1.0,)], "b": [(1.0,), (2.0,)]})


CLASSES = {"lime": [0, 1, 1, math.nan], "lrp": [0, 0, 1, 1], "none": [math.nan] * 4}


def test_the_share_of_documents_with_the_same_class(make_audit: Callable[..., Audit]) -> None:
    audit = make_audit({"agree": CLASSES, "auc": CLASSES})
    rows = tuple(replace(row, details={"class": row.value} if row.metric == "agree" else {}) for row in audit.rows)
    (found,) = agreements(replace(audit, rows=rows))
    assert (found.name, found.methods) == ("agree", ("lime", "lrp"))
    assert np.array(found.values) == pytest.approx(np.array([[1, 2 / 3], [2 / 3, 1]]))
