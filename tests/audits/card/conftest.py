"""A made audit that looks like a real one, all numbers by chance with a seed, and a reader of pages."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.statistics.findings import Agreement
from veridical.core.values import Explanation, Unit

VOID = {"meta", "br", "wbr", "img", "line", "path", "circle", "rect"}
METHODS = {
    "attention": 0.05,
    "integrated-gradients": 0.16,
    "kernel-shap(samples=200)": 0.26,
    "occlusion": 0.25,
    "random": 0.0,
}
RATIOS = (0.01, 0.05, 0.1, 0.2, 0.5)
METRICS = (
    AuditedMetric(
        "comprehensiveness",
        {"name": "comprehensiveness", "ratios": RATIOS, "eraser": "pad"},
        True,
        meaning="How much of the probability goes when the most important words go.",
        weakness="Erased texts are unlike those the model was trained on.",
        comparable=False,
        steps=RATIOS,
    ),
    AuditedMetric(
        "comprehensiveness(eraser=delete)",
        {"name": "comprehensiveness", "ratios": RATIOS, "eraser": "delete"},
        True,
        meaning="How much of the probability goes when the most important words go.",
        comparable=False,
        steps=RATIOS,
    ),
    AuditedMetric(
        "sufficiency",
        {"name": "sufficiency", "ratios": RATIOS, "eraser": "pad"},
        True,
        meaning="How much of the probability the most important words keep by themselves.",
        comparable=False,
        steps=RATIOS,
    ),
    AuditedMetric(
        "decision-flip",
        {"name": "decision-flip", "step": 0.05, "grid": "even", "eraser": "pad"},
        False,
        meaning="The share of words that must be erased, in the order of their scores, until the decision flips.",
        weakness="Depends on what the model says of an empty text.",
        comparable=False,
    ),
    AuditedMetric(
        "prediction-agreement",
        {"name": "prediction-agreement", "share": 0.3, "eraser": "mask"},
        True,
        percent=True,
        meaning="How often the words kept give the decision that all words give.",
    ),
    AuditedMetric(
        "auroc", {"name": "auroc"}, True, meaning="How well scores tell the words that people marked from the others."
    ),
    AuditedMetric(
        "stability",
        {"name": "stability", "neighbours": 3},
        True,
        percent=True,
        meaning="Similar texts, similar reasons.",
    ),
)
WORDS = re.findall(
    r"\w+", "the film was good and a bit long but its actors are wonderful while some jokes fall flat for once"
)


def audit_of(documents: int = 60, seed: int = 0) -> Audit:
    chance = np.random.default_rng(seed)
    known = tuple(_document(index, chance) for index in range(documents))
    rows = tuple(row for each in known for row in _rows(each, chance))
    costs = {
        "attention": (1, 1, 0, 0.004),
        "integrated-gradients": (21, 20, 20, 0.31),
        "kernel-shap(samples=200)": (201, 188.4, 0, 1.62),
        "occlusion": (24.6, 24.1, 0, 0.19),
        "random": (1, 1, 0, 0.003),
    }
    return Audit(
        model={"kind": "huggingface", "name": "runs/base", "hash": "5f0c", "labels": ["neg", "pos"]},
        data="reviews:test[:60]",
        documents=known,
        methods=tuple(AuditedMethod(name, _spec(name), _costs(*costs[name])) for name in METHODS),
        metrics=METRICS,
        rows=rows,
        skipped={"pos-importance": "the extra `tagger` is not installed"},
        failures={"review-61": {"attention": "the text is empty"}} if documents else {},
        warnings=("3 documents are longer than the model reads: 212 words were not seen.",),
        work={"queries": 41230, "forwards": 18904},
        versions={"veridical": "0.1.0", "torch": "2.9.1", "transformers": "5.20.0"},
        settings={"seed": 0},
    )


def full_audit_of(documents: int = 60, seed: int = 0) -> Audit:
    """The same with every part that a card can have: kinds of words, an attack, and how alike methods are."""
    audit, chance = audit_of(documents, seed), np.random.default_rng(seed)
    kinds = AuditedMetric("pos-importance", {"name": "pos-importance"}, True, meaning="Importance of open classes.")
    attack = AuditedMetric("attack", {"name": "attack"}, False, percent=True, meaning="How often an attack succeeds.")
    rows = [
        Measurement(each.id, method, "pos-importance", float(chance.random()), details={"ADJ": 0.3, "NOUN": 0.1})
        for each in audit.documents
        for method in METHODS
    ]
    taken = {"right": 1.0, "queries": 5.0, "words": 20.0, "perturbed": 0.1}
    rows += [Measurement(each.id, "the model", "attack", 1.0, details=taken) for each in audit.documents]
    values = tuple(tuple(float(one == other) for other in METHODS) for one in METHODS)
    likeness = Agreement("top words", "The share of first words in common.", tuple(METHODS), values)
    metrics, rows = (*audit.metrics, kinds, attack), (*audit.rows, *rows)
    return dataclasses.replace(audit, metrics=metrics, rows=rows, likeness=likeness)


def explanations_of(audit: Audit, seed: int = 0) -> dict[str, list[Explanation]]:
    chance = np.random.default_rng(seed)
    texts = {each.id: " ".join(chance.choice(WORDS, each.units)) for each in audit.documents}
    return {
        method.name: [_explained(each, texts[each.id], method, chance) for each in audit.documents]
        for method in audit.methods
    }


def _costs(queries: float, forwards: float, backwards: float, seconds: float) -> dict[str, float]:
    return {"queries": queries, "forwards": forwards, "backwards": backwards, "seconds": seconds}


def _spec(name: str) -> dict:
    options = {"eraser": "pad"} if name == "occlusion" else {}
    return {"method": {"name": name.partition("(")[0], **options}, "target": "predicted", "model": "runs/base"}


def _document(index: int, chance: np.random.Generator) -> Document:
    target, label = (("pos", "neg")[int(chance.random() < share)] for share in (0.45, 0.5))
    return Document(f"review-{index}", target, int(chance.integers(5, 70)), label, float(chance.uniform(0.5, 1)))


def _rows(document: Document, chance: np.random.Generator) -> list[Measurement]:
    luck = chance.normal(0, 0.12)
    return [
        row
        for metric in METRICS
        for method, skill in METHODS.items()
        for order, gain in (("given", skill), ("reversed", -0.7 * skill))
        if order == "given" or metric.name not in ("stability", "prediction-agreement")
        for row in [_row(document, metric, method, order, gain + luck + chance.normal(0, 0.13), chance)]
    ]


def _row(
    document: Document, metric: AuditedMetric, method: str, order: str, gain: float, chance: np.random.Generator
) -> Measurement:
    start = {"comprehensiveness": 0.28, "sufficiency": 0.4, "decision-flip": 0.55, "auroc": 0.5, "stability": 0.3}
    value = start.get(metric.kind, 0.6) + (gain if metric.greater_is_better else -gain)
    details: dict[str, float] = {}
    if metric.eraser == "delete" and method == "occlusion":
        value += 0.05
    if metric.kind == "decision-flip":
        value = min(1.0, max(0.05, round(value * 20) / 20))
        details = {"flipped": float(value < 1), "share": value}
    if metric.kind == "prediction-agreement":
        value = float(value > 0.6 + chance.normal(0, 0.1))
        details = {"class": float((document.target == "pos") == bool(value))}
    if metric.kind == "auroc" and int(document.id.rpartition("-")[2]) % 7 == 0:
        value = np.nan
    value = float(np.clip(value, 0, 1))
    curve = tuple(float(np.clip(value * (0.25 + 2.4 * step), 0, 1)) for step in metric.steps)
    return Measurement(document.id, method, metric.name, value, order, curve, details)


def _explained(document: Document, text: str, method: AuditedMethod, chance: np.random.Generator) -> Explanation:
    units = tuple(Unit("text", found.span(), found.group()) for found in re.finditer(r"\S+", text))
    scores = chance.normal(0, 0.3, len(units)) + [
        2 * METHODS[method.name] * (each.text in "good wonderful") for each in units
    ]
    return Explanation(
        document.id,
        {"text": text},
        document.target,
        units,
        tuple(float(each) for each in scores),
        {"pos": 0.9, "neg": 0.1} if document.target == "pos" else {"pos": 0.1, "neg": 0.9},
        method.name,
        method.spec,
        document.label,
    )


class Page(HTMLParser):
    """A page, refused where a tag is not closed in order."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.markup = path.read_text(encoding="utf-8")
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(self.markup)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.tags if attributes.get("id")]


@pytest.fixture(scope="session")
def made_audit() -> Callable[..., Audit]:
    """Makes audits: of how many documents, with which seed."""
    return audit_of


@pytest.fixture(scope="session")
def made_full_audit() -> Callable[..., Audit]:
    """Makes audits that have every part."""
    return full_audit_of


@pytest.fixture(scope="session")
def made_explanations() -> Callable[..., dict[str, list[Explanation]]]:
    """Makes explanations of all documents of an audit by all of its methods."""
    return explanations_of


@pytest.fixture(scope="session")
def read_page() -> type[Page]:
    return Page
