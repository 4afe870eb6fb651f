"""The few pieces of HTML that cards are made of. What comes from data passes `name` or `escaped` on its way in."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veridical.core.drawing import escaped


def name(words: str) -> str:
    """A name from data, kept from reordering the words around it. Options may go to the next line."""
    return f"<bdi>{escaped(words).replace('(', '<wbr>(').replace(',', ',<wbr>')}</bdi>"


def soft(markup: str) -> str:
    """Said with a lower voice."""
    return f'<span class="soft">{markup}</span>'


def under(top: str, bottom: str) -> str:
    """Two lines in one cell, the second one smaller."""
    return f'{top}<span class="under">{bottom}</span>' if bottom else top


def mark(sign: str, meaning: str) -> str:
    """A sign in its own column, so that numbers stay aligned with and without it; an empty one keeps the place."""
    return f'<span class="mark" title="{escaped(meaning)}">{sign}</span>' if sign else '<span class="mark"></span>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    told: str,
    words: Collection[int] = (),
    quiet: Collection[int] = (),
) -> str:
    """A table in a box of its own that scrolls when it is wide. The first column names the rows.

    `told` says what it shows, for those who hear it. Columns in `words` hold text, all others numbers; rows in `quiet`
    step back.
    """
    top = "".join(f'<th scope="col"{_left(index, words)}>{each}</th>' for index, each in enumerate(head))
    lines = "".join(_row(row, words, index in quiet) for index, row in enumerate(rows))
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(told)}"><table><thead><tr>{top}</tr>'
        f"</thead><tbody>{lines}</tbody></table></div>\n"
    )


def _row(cells: Sequence[str], words: Collection[int], quiet: bool) -> str:
    first, *rest = cells
    others = "".join(f"<td{_left(index, words)}>{each}</td>" for index, each in enumerate(rest, start=1))
    return f'<tr{" class=quiet" if quiet else ""}><th scope="row">{first}</th>{others}</tr>'


def _left(index: int, words: Collection[int]) -> str:
    return ' class="left"' if index == 0 or index in words else ""


def details(summary: str, inside: str, id: str = "", opened: bool = False) -> str:
    """Something folded away."""
    attributes = (f' id="{id}"' if id else "") + (" open" if opened else "")
    return f"<details{attributes}><summary>{summary}</summary>{inside}</details>\n"


@dataclass(frozen=True)
class Section:
    """A part of a page, at a place to link to; left out when there is nothing `inside`."""

    id: str
    title: str
    inside: str
    intro: str = ""

    def drawn(self) -> str:
        """The whole part."""
        told = f'<p class="intro">{self.intro}</p>' if self.intro else ""
        return f'<section id="{self.id}"><h2>{self.title}</h2>{told}{self.inside}</section>\n'


def sections(parts: Iterable[Section]) -> str:
    """All parts that have something inside, with a way to each."""
    shown = [part for part in parts if part.inside]
    links = "".join(f'<a href="#{part.id}">{part.title}</a>' for part in shown)
    return f"<nav>{links}</nav>\n<main>\n{''.join(part.drawn() for part in shown)}</main>\n"


def figure(drawing: str, caption: str) -> str:
    """A plot with its caption."""
    return f'<figure><figcaption>{caption}</figcaption><div class="plot">{drawing}</div></figure>\n'


def listed(items: Iterable[str]) -> str:
    """A list; empty if there is nothing to list."""
    inside = "".join(f"<li>{each}</li>" for each in items)
    return f"<ul>{inside}</ul>" if inside else ""


def data(value: Mapping[str, Any]) -> str:
    """Data as JSON, to be read and copied."""
    return f"<pre>{escaped(json.dumps(value, indent=2, ensure_ascii=False, default=str))}</pre>"
