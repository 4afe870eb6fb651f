"""The comparison page has every difference, warns of raw values, and loads nothing."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from veridical.audits import Audit
from veridical.audits.card import write_comparison
from veridical.audits.numbers import score
from veridical.audits.statistics.comparison import compare

BAD = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>\"' &amp;"


def better(audit: Audit) -> Audit:
    """Another model whose comprehensiveness is higher on each document."""
    rows = (
        dataclasses.replace(row, value=row.value + 0.1 + index % 7 / 100) if row.metric == "comprehensiveness" else row
        for index, row in enumerate(audit.rows)
    )
    return dataclasses.replace(audit, model={"name": "runs/saloss"}, rows=tuple(rows))


def test_every_difference_is_shown_with_its_verdict(made_audit, read_page, tmp_path: Path) -> None:
    comparison = compare(made_audit(), better(made_audit()), likeness={"attention": 0.414})
    write_comparison(comparison, tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    for each in comparison.differences:
        metric = next(metric for metric in comparison.metrics if metric.name == each.metric)
        assert score(each.contrast.mean, metric) in page.text
    assert page.markup.count("<strong>second better</strong>") == 5  # each method by comprehensiveness
    assert "0.41" in page.text
    assert "Raw values of different models do not mean the same" in page.text
    links = [attributes["href"].removeprefix("#") for attributes in page.all("a")]
    assert set(links) <= set(page.ids())
    assert not re.search(r"https?://|<script", page.markup)


def test_hostile_names_stay_text(made_audit, read_page, tmp_path: Path) -> None:
    comparison = compare(made_audit(6), better(made_audit(6)))
    metrics = tuple(dataclasses.replace(each, meaning=BAD) for each in comparison.metrics)
    told = {"first": BAD, "second": BAD, "data": BAD, "metrics": metrics, "left_out": {BAD: BAD}, "verdict": (BAD,)}
    write_comparison(dataclasses.replace(comparison, **told, likeness={BAD: 0.5}), tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert not page.all("script")
    assert not page.all("img")


def test_nothing_to_compare(made_audit, read_page, tmp_path: Path) -> None:
    comparison = compare(made_audit(3), better(made_audit(3)))
    empty = dataclasses.replace(comparison, metrics=(), differences=(), verdict=())
    write_comparison(empty, tmp_path / "page.html")
    assert "nothing was scored" in read_page(tmp_path / "page.html").text
