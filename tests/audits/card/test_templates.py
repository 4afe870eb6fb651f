"""Whatever data say, cards and comparisons keep their elements: names, texts and specs stay text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.card import write_card, write_comparison
from veridical.audits.statistics.comparison import compare
from veridical.audits.statistics.findings import Agreement
from veridical.audits.statistics.summary import summarise
from veridical.core.values import Explanation

PLAIN = " harmless"
HOSTILE = [
    "<script>alert 1</script>",
    "</title></style></div></bdi></td><img src=x onerror=alert>",
    "\" onmouseover=alert x=\"' onclick='alert",
    "{{ 7*7 }} {% raise %} {# gone #} ${7*7}",
    "a\u202eb\u2066c",
    "nul\x00 cr\r\nlf lone\ud800 &amp;",
]
KEPT = ("random", "the model")  # methods whose names mean something
KINDS = ("pos-importance", "attack")  # metrics that a card knows by name


def renamed(audit: Audit, word: str) -> Audit:
    """The audit with the word behind every name and text of it."""

    def said(text: str) -> str:
        return text if text in KEPT else f"{text}{word}"

    def told(data: Any) -> dict[str, Any]:
        return {said(str(key)): said(str(value)) for key, value in data.items()}

    def metric(each: AuditedMetric) -> AuditedMetric:
        spec = {"name": each.kind if each.kind in KINDS else said(each.kind), word: word}
        spec |= {"eraser": said(each.eraser)} if each.eraser else {}
        changed = {"name": said(each.name), "meaning": said(each.meaning), "weakness": said(each.weakness)}
        return dataclasses.replace(each, spec=spec, **changed)

    def method(each: AuditedMethod) -> AuditedMethod:
        costs = {said(kind): cost for kind, cost in each.costs.items()}
        return AuditedMethod(said(each.name), {"method": told({"name": each.name})}, costs)

    def document(each: Document) -> Document:
        return dataclasses.replace(each, id=said(each.id), target=said(each.target), label=said(str(each.label)))

    def row(each: Measurement) -> Measurement:
        details = {said(key): value for key, value in each.details.items()} if each.metric == KINDS[0] else each.details
        names = {"document": said(each.document), "method": said(each.method), "metric": said(each.metric)}
        return dataclasses.replace(each, details=details, **names)

    return dataclasses.replace(
        audit,
        model=told(audit.model),
        data=said(audit.data),
        documents=tuple(map(document, audit.documents)),
        methods=tuple(map(method, audit.methods)),
        metrics=tuple(map(metric, audit.metrics)),
        rows=tuple(map(row, audit.rows)),
        skipped=told(audit.skipped),
        failures={said(each): told(why) for each, why in audit.failures.items()},
        warnings=tuple(map(said, audit.warnings)),
        likeness=Agreement(word, word, tuple(map(said, audit.likeness.methods)), audit.likeness.values),
        versions=told(audit.versions),
        settings=told(audit.settings),
    )


def explained(found: dict[str, list[Explanation]], word: str) -> dict[str, list[Explanation]]:
    """The explanations with the word in every text, label and name."""
    return {
        method if method in KEPT else f"{method}{word}": [
            dataclasses.replace(
                each,
                example_id=f"{each.example_id}{word}",
                inputs={"text": f"{each.inputs['text']}{word}", word: word},
                target=f"{each.target}{word}",
                label=f"{each.label}{word}",
                probabilities={f"{label}{word}": share for label, share in each.probabilities.items()},
            )
            for each in all_of_method
        ]
        for method, all_of_method in found.items()
    }


@pytest.fixture(scope="module")
def card(made_full_audit, made_explanations, read_page, tmp_path_factory) -> Callable[[str], Any]:
    """Makes the card of one and the same audit, with a word behind every name."""

    def make(word: str):
        audit, path = renamed(made_full_audit(12), word), tmp_path_factory.mktemp("card") / "card.html"
        write_card(audit, summarise(audit), explained(made_explanations(made_full_audit(12)), word), path)
        return read_page(path)

    return make


@pytest.fixture
def comparison(made_full_audit, read_page, tmp_path: Path) -> Callable[[str], Any]:
    """Makes the comparison of two audits, with a word behind every name."""

    def make(word: str):
        one = renamed(made_full_audit(12), word)
        other = dataclasses.replace(one, model={"name": f"other{word}"}, metrics=one.metrics[1:])
        likeness = {method.name: 0.5 for method in one.methods}
        write_comparison(compare(one, other, likeness=likeness), tmp_path / "page.html")
        return read_page(tmp_path / "page.html")

    return make


def elements(page: Any) -> list[tuple[str, tuple[str, ...]]]:
    """The elements with the names of their attributes; names may break where their signs allow it."""
    return [(tag, tuple(attributes)) for tag, attributes in page.tags if tag != "wbr"]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_card_has_the_same_elements_whatever_the_data_say(card, word: str) -> None:
    found, plain = card(word), card(PLAIN)
    assert elements(found) == elements(plain)
    assert all(link["href"].startswith("#") for link in found.all("a"))
    assert len(plain.ids()) == len(found.ids()) > 30
    shown = word.replace("\x00", "\ufffd").replace("\ud800", "\ufffd").replace("\r\n", "\n")
    assert found.text.replace("\r", "").count(shown) > 200


@pytest.mark.parametrize("word", HOSTILE)
def test_a_comparison_has_the_same_elements_whatever_the_data_say(comparison, word: str) -> None:
    assert elements(comparison(word)) == elements(comparison(PLAIN))


def test_the_card_has_every_section(card) -> None:
    parts = ["scores", "metrics", "curves", "agreement", "groups", "kinds", "removal", "attacks", "cost", "documents"]
    assert [attributes["id"] for attributes in card(PLAIN).all("section") if "id" in attributes] == [*parts, "specs"]
