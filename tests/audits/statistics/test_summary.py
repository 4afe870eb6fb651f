"""The summary of an audit is complete, the same in any order of documents, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.statistics.findings import Agreement, plain
from veridical.audits.statistics.summary import summarise

METHODS = ("lime", "shap", "attention", "random")


@pytest.fixture
def audit() -> Audit:
    """Everything that there is: curves, flips, classes, erasers, reversed orders, and gaps."""
    generator = np.random.default_rng(0)
    documents = tuple(Document(f"d{i}", "pos" if i % 3 else "neg", 4 + i % 17) for i in range(50))
    metrics = tuple(
        AuditedMetric(f"comp({eraser})", {"name": "comp", "eraser": eraser}, True, steps=(0.1, 0.5))
        for eraser in ("pad", "mask")
    )
    metrics += (
        AuditedMetric("flip", {"name": "flip"}, False),
        AuditedMetric("agree", {"name": "agree"}, True, percent=True),
    )
    rows = [
        _row(generator, document.id, method, metric.name, order)
        for document in documents
        for method in METHODS
        for metric in metrics
        for order in ("given", "reversed")
    ]
    methods = tuple(AuditedMethod(name, {"method": {"name": name}}) for name in METHODS)
    return Audit({"name": "tiny"}, "reviews:test", documents, methods, metrics, tuple(rows))


def _row(generator: np.random.Generator, document: str, method: str, metric: str, order: Any) -> Measurement:
    better = 0.2 * (method == "lime") * (1 if order == "given" else -1)
    curve = tuple(float(value) for value in generator.random(2) + better)
    flips = {"flipped": float(curve[0] < 0.8), "share": curve[0]}
    details = {"flip": flips, "agree": {"class": float(curve[0] > 0.3)}}.get(metric, {})
    value = math.nan if generator.random() < 0.05 else float(np.mean(curve))
    return Measurement(document, method, metric, value, order, curve if "comp" in metric else (), details)


def test_the_order_of_documents_and_rows_changes_nothing(audit: Audit) -> None:
    shuffle = np.random.default_rng(1)
    documents = tuple(audit.documents[place] for place in shuffle.permutation(len(audit.documents)))
    rows = tuple(audit.rows[place] for place in shuffle.permutation(len(audit.rows)))
    mixed = replace(audit, documents=documents, rows=rows)
    assert plain(summarise(mixed)) == plain(summarise(audit))


def test_it_has_every_part(audit: Audit) -> None:
    likeness = Agreement("jaccard", "Words in common.", ("lime", "shap"), ((1.0, 0.5), (0.5, 1.0)))
    found = summarise(replace(audit, likeness=likeness))
    assert (found.model, found.data, found.documents) == ("tiny", "reviews:test", 50)
    assert [table.metric for table in found.tables] == [metric.name for metric in audit.metrics]
    assert all(len(table.cells) == 8 and len(table.pairs) == 6 and len(table.sanity) == 3 for table in found.tables)
    assert len(found.parts) == 4 * 4 * (2 + 3)
    assert (len(found.curves), len(found.flips), len(found.removals)) == (2 * 4, 4, 1)
    assert [agreement.name for agreement in found.agreements] == ["agree", "jaccard"]
    assert 3 <= len(found.verdict) <= 6


def test_it_is_json_with_null_for_what_does_not_exist(audit: Audit, make_audit: Callable[..., Audit]) -> None:
    assert json.loads(json.dumps(plain(summarise(audit)), allow_nan=False))["documents"] == 50
    data = plain(summarise(make_audit({"comp": {"lime": [math.nan]}})))
    assert json.loads(json.dumps(data, allow_nan=False))["tables"][0]["cells"][0]["mean"] is None


def test_a_table_is_found_by_its_metric(audit: Audit) -> None:
    assert summarise(audit).table("flip").metric == "flip"


@pytest.mark.parametrize("values", [{}, {"comp": {}}, {"comp": {"lime": []}}, {"comp": {"lime": [0.5]}}])
def test_hardly_anything_is_no_error(make_audit: Callable[..., Audit], values: Any) -> None:
    found = summarise(make_audit(values))
    assert found.verdict
    assert all(not table.pairs for table in found.tables)
