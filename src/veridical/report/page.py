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
from veridical.core.values import HUMAN, Explanation, Image
from veridical.report.drawing import Drawing, Heading, drawing
from veridical.report.style import TEMPLATES

Place = tuple[int, int]
"""Where a drawn part lies in the spool: its start and its length."""


@dataclass(frozen=True)
class Column:
    """A method and the model that it explained; `model` is empty where a page has only one."""

    method: str
    model: str


@dataclass
class _Row:
    """One example: its heading, what the table says of it, and its drawn explanations, by column."""

    example: str
    heading: Heading
    head: Place
    places: list[tuple[str, Place]] = field(default_factory=list)


@dataclass
class _Index:
    """What is kept in memory: where each drawn explanation lies in the spool, and what the page's header tells."""

    rows: dict[tuple[str, str], _Row] = field(default_factory=dict)  # by id and inputs: two files may share an id
    columns: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)  # by key: a source and its model
    sources: dict[str, int] = field(default_factory=dict)
    specs: dict[str, dict[str, Any]] = field(default_factory=dict)
    count: int = 0


@dataclass(frozen=True)
class _Section:
    """One drawn explanation, and what made it."""

    column: Column
    body: Markup


@dataclass(frozen=True)
class _Card:
    """All explanations of one example; `sections` are read from the spool while the page is written."""

    number: int
    example: str
    heading: Heading
    count: int
    sections: Iterator[_Section]


@dataclass(frozen=True)
class _Line:
    """One example in a table: what it is, and a cell for each column, empty where it was not explained."""

    number: int
    head: Markup
    cells: Iterator[list[Markup]]


def write_page(
    explanations: Iterable[Explanation],
    path: str | os.PathLike[str],
    title: str = "Explanations",
    top: int = 5,
    side_by_side: bool = False,
) -> int:
    """Write the page and return how many explanations it shows.

    Explanations of the same example come under one card, wherever they stand in the input, so that methods can be
    compared. With `side_by_side` the page is a table instead: a row for each example, a column for each method and
    model, and only the `top` units marked. Each explanation is drawn once to a temporary file: memory stays small for
    thousands of them. The page appears at `path` only when it is complete. `top` words are listed under each text; 0
    lists none.
    """
    with tempfile.TemporaryFile() as spool, text_file(path) as page:
        index = _draw(explanations, spool, top, side_by_side)
        page.writelines(_page(index, spool, title, top, side_by_side))
    return index.count


def _draw(explanations: Iterable[Explanation], spool: BinaryIO, top: int, side_by_side: bool) -> _Index:
    index = _Index()
    template = TEMPLATES.get_template("cell.html" if side_by_side else "section.html")
    for explanation in explanations:
        shown = drawing(explanation, top, only_top=side_by_side)
        key = explanation.example_id, spec_key({name: _content(value) for name, value in explanation.inputs.items()})
        if key not in index.rows:
            head = _spooled(spool, _head(explanation, shown)) if side_by_side else (0, 0)
            index.rows[key] = _Row(explanation.example_id, shown.heading, head)
        row = index.rows[key]
        same = _shares(shown.heading, row.heading)
        row.places.append((_column(index, explanation), _spooled(spool, template.render(shown=shown, same=same))))
        index.sources[explanation.source] = index.sources.get(explanation.source, 0) + 1
        index.specs.setdefault(spec_key(explanation.spec), dict(explanation.spec))
        index.count += 1
    return index


def _head(explanation: Explanation, shown: Drawing) -> str:
    return TEMPLATES.get_template("head.html").render(shown=shown, example=explanation.example_id)


def _content(value: str | Image) -> str:
    return value if isinstance(value, str) else f"{value.pixels.shape}{value.pixels.tobytes().hex()}"


def _column(index: _Index, explanation: Explanation) -> str:
    """The key of the column: the same method with other options, or for another model, has another."""
    spec, model = explanation.spec, explanation.spec.get("model")
    key = spec_key({"source": explanation.source, "method": spec.get("method"), "model": model})
    known = model if isinstance(model, dict) else {"name": model}
    index.columns.setdefault(key, (explanation.source, known))
    return key


def _spooled(spool: BinaryIO, markup: str) -> Place:
    start = spool.tell()
    return start, spool.write(markup.encode())


def _shares(own: Heading, card: Heading) -> bool:
    """Whether the heading of a card is enough; where there are several labels, each explanation names its own."""
    return own == card and own.chosen is None


def _page(index: _Index, spool: BinaryIO, title: str, top: int, side_by_side: bool) -> Iterator[str]:
    examples, columns = len(index.rows), _columns(index)
    return TEMPLATES.get_template("table.html" if side_by_side else "page.html").generate(
        title=title,
        counts=f"{index.count} explanation{'s' * (index.count != 1)} of {examples} example{'s' * (examples != 1)}",
        sources=[f"{_called(name)} ({count})" for name, count in index.sources.items()],
        models=list(dict.fromkeys(name for name in map(_model_name, _models(index)) if name)),
        specs=list(index.specs.values()),
        columns=list(columns.values()),
        top=top,
        cards=_lines(index, spool, columns) if side_by_side else _cards(index, spool, columns),
    )


def _cards(index: _Index, spool: BinaryIO, columns: dict[str, Column]) -> Iterator[_Card]:
    for number, row in enumerate(index.rows.values(), start=1):
        sections = (_Section(columns[key], _read(spool, place)) for key, place in row.places)
        yield _Card(number, row.example, row.heading, len(row.places), sections)


def _lines(index: _Index, spool: BinaryIO, columns: dict[str, Column]) -> Iterator[_Line]:
    for number, row in enumerate(index.rows.values(), start=1):
        cells = ([_read(spool, place) for key, place in row.places if key == column] for column in columns)
        yield _Line(number, _read(spool, row.head), cells)


def _read(spool: BinaryIO, place: Place) -> Markup:
    start, length = place
    spool.seek(start)
    return Markup(spool.read(length).decode())  # made by a template, so it is escaped already


def _columns(index: _Index) -> dict[str, Column]:
    """What stands over each column; models are named where there are several."""
    several = len({spec_key(model) for model in _models(index)}) > 1
    names = {key: _called(source) for key, (source, _) in index.columns.items()}
    return {key: Column(names[key], _model_name(model) if several else "") for key, (_, model) in index.columns.items()}


def _models(index: _Index) -> list[dict[str, Any]]:
    """The models that methods explained; people explain none."""
    return [model for source, model in index.columns.values() if source != HUMAN]


def _model_name(model: dict[str, Any]) -> str:
    return str(model.get("name") or model.get("fingerprint") or "")


def _called(source: str) -> str:
    return "people" if source == HUMAN else source
