"""What every page shares: a head that forbids scripts and outside requests, and files that appear when complete."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from veridical.core.explanation import HUMAN, Explanation
from veridical.core.files import spec_key
from veridical.core.storage import text_file
from veridical.report.colours import AGAINST, FOR, LIGHT, hexadecimal
from veridical.report.drawing import DARK_VARIABLES, body, called, escaped, heading, legend, number, strongest

# Should a text ever slip through the escaping, the browser itself refuses scripts and anything from outside.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def head(title: str, styles: str) -> str:
    """The beginning of a page, up to its body."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{styles}</style></head>\n<body>\n"
    )


FOOT = "</body></html>\n"
"""The end of a page."""


STYLES = f"""
:root {{ color-scheme: light dark; --vd-paper: {hexadecimal(LIGHT.paper)}; --vd-ink: {hexadecimal(LIGHT.ink)};
  --vd-soft: #5b6270; --vd-line: #d9dce3; --desk: #f4f5f7; --for: {hexadecimal(FOR)};
  --against: {hexadecimal(AGAINST)}; }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK_VARIABLES}; --desk: #101216; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 76rem; background: var(--desk); color: var(--vd-ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
header {{ margin-bottom: 1.5rem; }}
h1 {{ margin: 0; font-size: 1.6rem; line-height: 1.25; letter-spacing: -.01em; overflow-wrap: anywhere; }}
.counts {{ margin: .2rem 0 1rem; color: var(--vd-soft); }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0 0 .8rem; font-size: .93rem; }}
dt {{ color: var(--vd-soft); }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
details {{ margin-bottom: .8rem; font-size: .93rem; }}
summary {{ cursor: pointer; color: var(--vd-soft); }}
pre {{ margin: .5rem 0; padding: .8rem 1rem; overflow-x: auto; background: var(--vd-paper); font-size: .8rem;
  border: 1px solid var(--vd-line); border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere; }}
article {{ margin-bottom: 1rem; padding: 1rem 1.25rem 1.1rem; background: var(--vd-paper); border-radius: 10px;
  border: 1px solid var(--vd-line); content-visibility: auto; contain-intrinsic-size: auto 12rem; }}
.top {{ display: flex; justify-content: space-between; gap: 1.5rem; padding-bottom: .6rem;
  border-bottom: 1px solid var(--vd-line); }}
.top > div {{ min-width: 0; }}
.id {{ color: var(--vd-soft); font-size: .85rem; overflow-wrap: anywhere; text-align: right;
  max-width: 40%; flex-shrink: 0; }}
.methods.several {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr));
  gap: .4rem 2.2rem; }}
section {{ min-width: 0; padding-top: .7rem; }}
h2 {{ margin: 0; font-size: .8rem; font-weight: 600; color: var(--vd-soft); overflow-wrap: anywhere; }}
section h2 + div {{ margin-top: .2rem !important; }}
.words {{ display: flex; flex-wrap: wrap; gap: .35rem; margin: .8rem 0 0; padding: 0; list-style: none;
  font-size: .82rem; }}
.words li {{ display: flex; gap: .45rem; max-width: 20rem; padding: .05rem .5rem; border: 1px solid var(--vd-line);
  border-left: 4px solid var(--for); border-radius: 4px; }}
.words li.against {{ border-left: 4px dotted var(--against); }}
.words bdi {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
.words b {{ font-weight: 500; white-space: nowrap; font-variant-numeric: tabular-nums; color: var(--vd-soft); }}
@media print {{
  body {{ padding: 0; max-width: none; background: none; font-size: 10.5pt; }}
  article {{ break-inside: avoid; content-visibility: visible; }}
  details {{ display: none; }}
}}
"""


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
    with tempfile.TemporaryFile() as spool, text_file(path) as page:
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
