"""A page of explanations: one HTML file that loads nothing, runs nothing, and appears when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from markupsafe import Markup

from veridical.core.files import spec_key
from veridical.core.storage import text_file
from veridical.core.values import HUMAN, Explanation
from veridical.report.drawing import Heading, drawing, heading
from veridical.report.style import TEMPLATES


@dataclass
class _Index:
    """What is kept in memory: where each drawn explanation lies in the spool, and what the page's header tells."""

    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # by example: start and length of each
    headings: dict[str, Heading] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    specs: dict[str, dict[str, Any]] = field(default_factory=dict)
    count: int = 0


@dataclass(frozen=True)
class _Card:
    """All explanations of one example; `sections` are read from the spool while the page is written."""

    number: int
    example: str
    heading: Heading
    count: int
    sections: Iterator[Markup]


def write_page(
    explanations: Iterable[Explanation], path: str | os.PathLike[str], title: str = "Explanations", top: int = 5
) -> int:
    """Write the page and return how many explanations it shows.

    Explanations of the same example come under one card, wherever they stand in the input, so that methods can be
    compared. Each is drawn once to a temporary file: memory stays small for thousands of them. The page appears at
    `path` only when it is complete. `top` words are listed under each text; 0 lists none.
    """
    with tempfile.TemporaryFile() as spool, text_file(path) as page:
        index = _draw(explanations, spool, top)
        page.writelines(_page(index, spool, title))
    return index.count


def _draw(explanations: Iterable[Explanation], spool: BinaryIO, top: int) -> _Index:
    index, template = _Index(), TEMPLATES.get_template("section.html")
    for explanation in explanations:
        start, example = spool.tell(), explanation.example_id
        shared = index.headings.setdefault(example, heading(explanation))
        shown = drawing(explanation, top)
        spool.write(template.render(shown=shown, shares_heading=_shares(shown.heading, shared)).encode())
        index.places.setdefault(example, []).append((start, spool.tell() - start))
        index.sources[explanation.source] = index.sources.get(explanation.source, 0) + 1
        index.specs.setdefault(spec_key(explanation.spec), dict(explanation.spec))
        index.count += 1
    return index


def _shares(own: Heading, card: Heading) -> bool:
    """Whether the heading of a card is enough; where there are several labels, each explanation names its own."""
    return own == card and own.chosen is None


def _page(index: _Index, spool: BinaryIO, title: str) -> Iterator[str]:
    examples = len(index.places)
    return TEMPLATES.get_template("page.html").generate(
        title=title,
        counts=f"{index.count} explanation{'s' * (index.count != 1)} of {examples} example{'s' * (examples != 1)}",
        sources=[f"{'people' if name == HUMAN else name} ({count})" for name, count in index.sources.items()],
        models=_models(index.specs.values()),
        specs=list(index.specs.values()),
        cards=_cards(index, spool),
    )


def _cards(index: _Index, spool: BinaryIO) -> Iterator[_Card]:
    for number, (example, places) in enumerate(index.places.items(), start=1):
        yield _Card(number, example, index.headings[example], len(places), _sections(spool, places))


def _sections(spool: BinaryIO, places: Iterable[tuple[int, int]]) -> Iterator[Markup]:
    for start, length in places:
        spool.seek(start)
        yield Markup(spool.read(length).decode())  # made by a template, so it is escaped already


def _models(specs: Iterable[dict[str, Any]]) -> list[str]:
    """The models that the specs name, each once."""
    found: dict[str, None] = {}
    for spec in specs:
        model = spec.get("model")
        name = model.get("name", "") if isinstance(model, dict) else model
        found |= {str(name): None} if name else {}
    return list(found)
