"""Audits and comparisons as people read them: pages, Markdown and JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from veridical.audits.card import card_markdown, comparison_markdown, summary_json, write_card, write_comparison
from veridical.audits.card.sections import to_show
from veridical.audits.record import Audit, document_id
from veridical.audits.statistics.comparison import check_comparable, compare, match_methods
from veridical.audits.statistics.findings import Comparison, Summary, plain
from veridical.audits.statistics.groups import jaccard
from veridical.audits.store import EXPLANATIONS, load_audit
from veridical.core.errors import UsageError
from veridical.core.files import read, spec_key
from veridical.core.storage import write_json, write_text
from veridical.core.values import Explanation

AnyPath = str | os.PathLike[str]
ScoresByDocument = dict[str, tuple[float, ...]]
ExplanationsByMethod = Mapping[str, Sequence[Explanation]]

CARD_PAGE, CARD_MARKDOWN, SUMMARY_FILE = "card.html", "card.md", "summary.json"
ENDINGS = (".html", ".md", ".json")


def publish(folder: AnyPath) -> Summary:
    """Write the card of an audit's folder anew. An audit has written it already, when it ended."""
    path = Path(folder)
    audit = load_audit(path)
    write_cards(audit, lambda documents: _explanations(audit, path, documents), path)
    return audit.summary


def write_cards(audit: Audit, explanations: Callable[[set[str]], ExplanationsByMethod], folder: Path) -> None:
    """Write the card of an audit as a page, as Markdown and as JSON.

    `explanations` gives those of some documents by method: the page shows a few of them.
    """
    summary = audit.summary
    write_card(audit, summary, explanations(to_show(audit, summary)), folder / CARD_PAGE)
    write_text(folder / CARD_MARKDOWN, card_markdown(audit, summary))
    write_json(folder / SUMMARY_FILE, summary_json(audit, summary))


def compare_folders(one: AnyPath, other: AnyPath) -> Comparison:
    """Compare two audits by their folders, with how alike the explanations of the two models are."""
    first, second = load_audit(one), load_audit(other)
    check_comparable(first, second)
    mine, theirs = _scores(first, Path(one)), _scores(second, Path(other))
    pairs = {each.name: (mine[each.name], theirs[same.name]) for each, same in match_methods(first, second).pairs}
    return compare(first, second, likeness={name: _likeness(*scores) for name, scores in pairs.items()})


def write_comparison_to(comparison: Comparison, path: AnyPath) -> None:
    """Write a comparison in the format that the file's ending names: .html, .md or .json."""
    goal = Path(path)
    check_ending(goal)
    if goal.suffix == ".md":
        write_text(goal, comparison_markdown(comparison))
    elif goal.suffix == ".json":
        write_json(goal, plain(comparison))
    else:
        write_comparison(comparison, goal)


def check_ending(path: AnyPath) -> None:
    """Refuse a file for a comparison whose ending names no format."""
    if Path(path).suffix not in ENDINGS:
        raise UsageError(f"{path} does not say its format", remedy=f"It ends in one of: {', '.join(ENDINGS)}.")


def _explanations(audit: Audit, folder: Path, documents: Container[str]) -> dict[str, list[Explanation]]:
    """The explanations of some documents, by method, from the file of an audit."""
    found: dict[str, list[Explanation]] = {method.name: [] for method in audit.methods}
    for name, document, explanation in _by_method(audit, folder):
        if document in documents:
            found[name].append(explanation)
    return found


def _scores(audit: Audit, folder: Path) -> dict[str, ScoresByDocument]:
    """The scores of each method by document."""
    known = {document.id for document in audit.documents}
    found: dict[str, ScoresByDocument] = {method.name: {} for method in audit.methods}
    for name, document, explanation in _by_method(audit, folder):
        if document in known:
            found[name][document] = explanation.scores
    return found


def _by_method(audit: Audit, folder: Path) -> Iterator[tuple[str, str, Explanation]]:
    """The explanations of an audit's file, each with the name of its method and the id of its document."""
    names = {spec_key(method.spec): method.name for method in audit.methods}
    for explanation in read(folder / EXPLANATIONS):
        name = names.get(spec_key(explanation.spec))
        if name is not None:
            yield name, document_id(explanation.example_id, explanation.target, audit.model), explanation


def _likeness(mine: ScoresByDocument, theirs: ScoresByDocument) -> float:
    found = [jaccard(mine[id], theirs[id]) for id in mine if id in theirs]
    return float(np.mean(found)) if found else float("nan")
