"""Numbers in words, never without their spec."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from veridical.audits import AuditedMetric
from veridical.audits.numbers import listed, needed, number, probability, written
from veridical.audits.statistics.findings import Estimate
from veridical.audits.statistics.summary import contrasts
from veridical.core.errors import InputError

HALF = Estimate(0.5234, 0.4941, 0.5509, 100)


def test_a_mean_has_its_interval(make_metric: Callable[..., AuditedMetric]) -> None:
    assert written(HALF, make_metric("comp")) == "0.523 (95% interval 0.494 to 0.551)"
    assert written(HALF, make_metric("comp", percent=True)) == "52.3 (95% interval 49.4 to 55.1)"
    assert written(Estimate(0.5, math.nan, math.nan, 1), make_metric("comp")) == "0.500"
    assert written(Estimate(math.nan, math.nan, math.nan, 0), make_metric("comp")) == "undefined"


def test_a_score_without_its_spec_cannot_be_printed(make_metric: Callable[..., AuditedMetric]) -> None:
    with pytest.raises(InputError, match="'comp' without its spec cannot be printed. Give the metric the spec"):
        written(HALF, make_metric("comp", spec={}))


def test_there_is_no_negative_zero(make_metric: Callable[..., AuditedMetric]) -> None:
    assert number(-0.0001, make_metric("comp")) == "0.000"
    assert number(-0.0006, make_metric("comp")) == "-0.001"


@pytest.mark.parametrize(("p", "text"), [(0.00099, "p < 0.001"), (0.034, "p = 0.034"), (1.0, "p = 1.000")])
def test_p(p: float, text: str) -> None:
    assert probability(p) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (6, "about 6 documents would be needed"),
        (1101, "about 1,200 documents would be needed"),
        (1200, "about 1,200 documents would be needed"),
        (99_100, "about 100,000 documents would be needed"),
        (None, "more than 100,000 documents would be needed"),
    ],
)
def test_documents_needed_have_two_digits(count: int | None, text: str) -> None:
    contrast = contrasts([np.zeros(3)], [True])[0]
    assert needed(replace(contrast, needed=count)) == text


def test_one_document_cannot_say_how_many_are_needed() -> None:
    assert "too few" in needed(contrasts([np.array([0.5])], [True])[0])


def test_lists() -> None:
    assert [listed(list("abcde"[:count])) for count in (1, 2, 4, 5)] == [
        "a",
        "a and b",
        "a, b, c and d",
        "a, b, c and 2 more",
    ]
