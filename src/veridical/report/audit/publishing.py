"""From the folder of an audit, or two of them, to what people read: pages, Markdown and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from veridical.core.errors import UsageError
from veridical.core.explanation import Explanation
from veridical.core.files import read, spec_key
from veridical.report.audit.card import card_markdown, comparison_markdown, summary_json, write_card, write_comparison
from veridical.report.audit.card.documents import to_show
from veridical.report.audit.comparison import compare
from veridical.report.audit.findings import Agreement, Comparison, Summary, plain
from veridical.report.audit.likeness import agreement, jaccard
from veridical.report.audit.matching import match_methods
from veridical.report.audit.record import Audit
from veridical.report.audit.storing import EXPLANATIONS, load_audit, write_whole
from veridical.report.audit.summary import summarise

AnyPath = str | os.PathLike[str]
Scores = dict[str, tuple[float, ...]]

CARD, TEXT, NUMBERS = "card.html", "card.md", "summary.json"
ENDINGS = (".html", ".md", ".json")
_RATIO = 0.25


def publish(folder: AnyPath) -> Summary:
    """Write the card of an audit beside it, as a page, as Markdown and as JSON."""
    path = Path(folder)
    audit = load_audit(path)
    scores = {name: found for name, found in _scores(audit, path).items() if found}
    summary = summarise(audit, likeness=_alike(audit, scores))
    write_card(audit, summary, _shown(audit, path, to_show(audit, summary)), path / CARD)
    write_whole(path / TEXT, card_markdown(audit, summary))
    write_whole(path / NUMBERS, json.dumps(summary_json(audit, summary), indent=1, ensure_ascii=False) + "\n")
    return summary


def compare_folders(one: AnyPath, other: AnyPath) -> Comparison:
    """Compare two audits by their folders, with how alike the explanations of the two models are."""
    first, second = load_audit(one), load_audit(other)
    mine, theirs = _scores(first, Path(one)), _scores(second, Path(other))
    pairs = {each.name: (mine[each.name], theirs[same.name]) for each, same in match_methods(first, second).pairs}
    return compare(first, second, likeness={name: _likeness(*scores) for name, scores in pairs.items()})


def write_comparison_to(comparison: Comparison, path: AnyPath) -> None:
    """Write a comparison in the format that the file's ending names: .html, .md or .json."""
    goal = Path(path)
    check_ending(goal)
    if goal.suffix == ".md":
        write_whole(goal, comparison_markdown(comparison))
    elif goal.suffix == ".json":
        write_whole(goal, json.dumps(plain(comparison), indent=1, ensure_ascii=False) + "\n")
    else:
        write_comparison(comparison, goal)


def check_ending(path: AnyPath) -> None:
    """Refuse a file for a comparison whose ending names no format."""
    if Path(path).suffix not in ENDINGS:
        raise UsageError(f"{path} does not say its format", remedy=f"It ends in one of: {', '.join(ENDINGS)}.")


def _names(audit: Audit) -> dict[str, str]:
    """The names of methods by the keys of their specs."""
    return {spec_key(method.spec): method.name for method in audit.methods}


def _scores(audit: Audit, folder: Path) -> dict[str, Scores]:
    """The scores of each method by document."""
    names, known = _names(audit), {document.id for document in audit.documents}
    found: dict[str, Scores] = {method.name: {} for method in audit.methods}
    for each in read(folder / EXPLANATIONS):
        name = names.get(spec_key(each.spec))
        if name is not None and each.example_id in known:
            found[name][each.example_id] = each.scores
    return found


def _shown(audit: Audit, folder: Path, documents: set[str]) -> dict[str, list[Explanation]]:
    """The explanations of a few documents, by method."""
    names = _names(audit)
    found: dict[str, list[Explanation]] = {method.name: [] for method in audit.methods}
    for each in read(folder / EXPLANATIONS):
        if each.example_id in documents and (name := names.get(spec_key(each.spec))) is not None:
            found[name].append(each)
    return found


def _alike(audit: Audit, scores: Mapping[str, Scores]) -> Agreement | None:
    """How many of their top words methods share, over the documents that all of them explain."""
    shared = [each.id for each in audit.documents if all(each.id in found for found in scores.values())]
    if len(scores) < 2 or not shared:
        return None
    values = agreement({name: [found[id] for id in shared] for name, found in scores.items()}, _RATIO)
    meaning = f"The share of their first {_RATIO:.0%} of words that two methods have in common (Jaccard)."
    return Agreement("top words", meaning, tuple(scores), tuple(tuple(row) for row in values.tolist()))


def _likeness(mine: Scores, theirs: Scores) -> float:
    found = [jaccard(mine[id], theirs[id], _RATIO) for id in mine.keys() & theirs.keys()]
    return float(np.mean(found)) if found else float("nan")
