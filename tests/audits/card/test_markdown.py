"""Markdown cards have the same numbers, a spec for each, and no markup from data."""

from __future__ import annotations

import dataclasses
import re

from veridical.audits.card import card_markdown, comparison_markdown
from veridical.audits.card.card import safe
from veridical.audits.statistics.comparison import compare
from veridical.audits.statistics.summary import summarise

BAD = "<img src=x>|*a*\n# [b](http://evil.example) `c`"


def test_the_card_has_every_mean_and_spec(made_audit) -> None:
    audit = made_audit()
    summary = summarise(audit)
    text = card_markdown(audit, summary)
    means = [f"{cell.mean:.3f}" for cell in summary.table("comprehensiveness").cells if cell.order == "given"]
    assert all(mean in text for mean in means)
    assert all(f'"name": "{metric.kind}"' in text for metric in audit.metrics)
    assert re.search(r"\| comprehensiveness ↑ \| .* \| \*\*0\.\d{3} \(0\.\d{3} to 0\.\d{3}\)\*\* † \|", text)


def test_rows_have_as_many_cells_as_their_head(made_audit) -> None:
    text = card_markdown(made_audit(), summarise(made_audit()))
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_data_cannot_add_markup(made_audit) -> None:
    audit = dataclasses.replace(made_audit(5), model={"name": BAD}, data=BAD, warnings=(BAD,), skipped={BAD: BAD})
    text = card_markdown(audit, summarise(audit))
    assert not re.search(r"(?<!\\)<img|(?<!\\)\[b|^# \[", text, re.MULTILINE)
    assert safe("a|b\n`c`") == "a\\|b \\`c\\`"


def test_an_audit_of_nothing(made_audit) -> None:
    audit = made_audit(0)
    assert "0 documents" in card_markdown(audit, summarise(audit))


def test_the_comparison_names_both_models_and_every_verdict(made_audit) -> None:
    one, other = made_audit(), dataclasses.replace(made_audit(), model={"name": "runs/saloss"})
    comparison = compare(one, other)
    text = comparison_markdown(comparison)
    assert text.startswith("# runs/base or runs/saloss?")
    assert text.count("cannot tell") >= len(comparison.differences)
    assert all(f'"name": "{metric.kind}"' in text for metric in comparison.metrics)
