"""One self-contained HTML page of explanations: nothing to install, nothing fetched, safe to send by mail."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from veridical.core.drawing import body, called, escaped, heading, legend, number, strongest
from veridical.core.explanation import HUMAN, Explanation
from veridical.core.files import spec_key
from veridical.core.files.appearing import appearing
from veridical.report.frame import FOOT, head
from veridical.report.styles import STYLES


@dataclass
class _Index:
    """What is kept in memory: where each drawn explanation lies in the spool, and what the header tells."""

    cards: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    headings: dict[str, str] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    specs: dict[str, dict[str, Any]] = field(default_factory=dict)
    count: int = 0


def write_page(
    explanations: Iterable[Explanation], path: str | os.PathLike[str], title: str = "Explanations", top: int = 5
) -> int:
    """Write the page and return how many explanations it shows.

    Explanations of the same example come under one card, wherever they stand in the input, so that methods can be
    compared. Each is drawn once to a temporary file: memory stays small for thousands of them. The page appears at
    `path` only when it is complete. `top` words are listed under each text; 0 lists none.
    """
    with tempfile.TemporaryFile() as spool, appearing(path) as page:
        index = _draw(explanations, spool, top)
        page.writelines(_page(index, spool, title))
    return index.count


def _draw(explanations: Iterable[Explanation], spool: BinaryIO, top: int) -> _Index:
    index = _Index()
    for explanation in explanations:
        start = spool.tell()
        index.headings.setdefault(explanation.example_id, heading(explanation))
        shared = index.headings[explanation.example_id] == heading(explanation)
        spool.write(_section(explanation, top, shared).encode())
        index.cards.setdefault(explanation.example_id, []).append((start, spool.tell() - start))
        index.sources[explanation.source] = index.sources.get(explanation.source, 0) + 1
        index.specs.setdefault(spec_key(explanation.spec), dict(explanation.spec))
        index.count += 1
    return index


def _page(index: _Index, spool: BinaryIO, title: str) -> Iterator[str]:
    yield f"{head(title, STYLES)}{_header(index, title)}<main>\n"
    for place, (example, places) in enumerate(index.cards.items(), start=1):
        yield _card_start(place, example, index.headings[example], len(places))
        for start, length in places:
            spool.seek(start)
            yield spool.read(length).decode()
        yield "</div></article>\n"
    yield f"</main>\n{'' if index.count else '<p>There are no explanations.</p>'}{FOOT}"


def _header(index: _Index, title: str) -> str:
    examples = len(index.cards)
    counts = f"{index.count} explanation{'s' * (index.count != 1)} of {examples} example{'s' * (examples != 1)}"
    methods = ", ".join(f"{_name(source)} ({count})" for source, count in index.sources.items())
    facts = [("Methods", methods), ("Model", ", ".join(_models(index.specs.values())))]
    rows = "".join(f"<dt>{name}</dt><dd>{escaped(value)}</dd>" for name, value in facts if value)
    return (
        f'<header><h1>{escaped(title)}</h1><p class="counts">{counts}</p><dl>{rows}</dl>{_specs(index.specs)}'
        f'<div class="legend">{legend()}</div></header>\n'
    )


def _specs(specs: dict[str, dict[str, Any]]) -> str:
    if not specs:
        return ""
    blocks = "".join(f"<pre>{escaped(json.dumps(spec, indent=2, ensure_ascii=False))}</pre>" for spec in specs.values())
    return f"<details><summary>How the scores were made ({len(specs)})</summary>{blocks}</details>"


def _models(specs: Iterable[dict[str, Any]]) -> list[str]:
    """The models that the specs name, each once."""
    found: dict[str, None] = {}
    for spec in specs:
        model = spec.get("model", spec.get("classifier"))
        model = model.get("name", "") if isinstance(model, dict) else model
        found |= {str(model): None} if model else {}
    return list(found)


def _card_start(number: int, example: str, predicted: str, methods: int) -> str:
    several = " several" if methods > 1 else ""
    return (
        f'<article id="example-{number}"><div class="top"><div>{predicted}</div>'
        f'<div class="id"><bdi>{escaped(example)}</bdi></div></div><div class="methods{several}">'
    )


def _section(explanation: Explanation, top: int, shared: bool) -> str:
    own = "" if shared else heading(explanation)  # another target than the card's, so it needs its own heading
    words = _top_words(explanation, top)
    return f"<section><h2>{escaped(_name(explanation.source))}</h2>{own}{body(explanation)}{words}</section>\n"


def _name(source: str) -> str:
    return "people" if source == HUMAN else source


def _top_words(explanation: Explanation, top: int) -> str:
    items = "".join(
        f'<li class="{"for" if explanation.scores[index] > 0 else "against"}">'
        f"<bdi>{escaped(called(explanation.units[index]))}</bdi><b>{number(explanation, index)}</b></li>"
        for index in strongest(explanation, top)
    )
    return f'<ol class="words">{items}</ol>' if items else ""
