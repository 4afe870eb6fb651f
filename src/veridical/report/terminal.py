"""Explanations in a terminal, in the same colours as the page, or in signs where there are none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import groupby

from rich.console import Console
from rich.style import Style
from rich.text import Text

from veridical.core.values import HUMAN, Explanation, Image, gives
from veridical.report.drawing import account, doubts, greatest, heading, segments, strongest_words
from veridical.report.style import DARK, LIGHT, Paper, blend, hexadecimal

# Escape sequences in a text could move the cursor or rename the window; surrogates cannot be printed at all.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_WEAK, _STRONG = 0.1, 0.6


def print_explanations(console: Console, explanations: Iterable[Explanation], top: int = 5) -> None:
    """Print each explanation: what was predicted, the tinted text, and the `top` strongest words with their scores
    and margins, and what all scores add up to.

    Without colours (a pipe, a file, NO_COLOR) words are marked `[+for]` and `[-against]`, doubled when strong, or
    `[*important]` where scores do not say for what.
    """
    first = True
    for explanation in explanations:
        if first:
            console.print(_legend(console), soft_wrap=True)
        first = False
        console.print()
        console.print(_heading(explanation), soft_wrap=not console.is_terminal)
        for field, value in explanation.inputs.items():
            console.print(*_input(console, explanation, field, value), sep="\n")
        for line in (*doubts(explanation), _top_words(explanation, top), account(explanation)):
            if line:
                console.print(Text(line, "dim"))


def _coloured(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def _legend(console: Console) -> Text:
    if not _coloured(console):
        return Text("[+for] and [-against] the answer; [++strongly], [--strongly]")
    return Text.assemble((" against ", _style(-1.0, 1.0)), " ", (" for ", _style(1.0, 1.0)), (" the answer", "dim"))


def _heading(explanation: Explanation) -> Text:
    shown = heading(explanation)
    text = Text.assemble((_printable(shown.target.label), "bold"), shown.target.figure)
    if shown.predicted is not None:
        text.append(f", predicted {_printable(str(shown.predicted))}")
    if shown.choice:
        text.append(f", {shown.choice} {_printable(', '.join(shown.others))}".rstrip())
    if shown.gold is not None:
        text.append(f", {shown.gold_is} {_printable(shown.gold)}")
    source = "people" if explanation.source == HUMAN else _printable(explanation.source)
    text.append(f"  (example {_printable(explanation.example_id)}, by {source})", "dim")
    return text


def _input(console: Console, explanation: Explanation, field: str, value: str | Image) -> list[Text]:
    if isinstance(value, Image):
        return _grid(console, explanation, field)
    text, highest, has_sign = Text(), greatest(explanation), gives(explanation.spec) != "shares"
    if len(explanation.inputs) > 1:
        text.append(f"{_printable(field)}: ", "dim")
    for piece, index in segments(explanation, field):
        score = None if index is None else explanation.scores[index]
        text.append_text(_mark(console, _printable(piece), score, highest, has_sign))
    return [text]


def _mark(console: Console, piece: str, score: float | None, highest: float, has_sign: bool = True) -> Text:
    share = abs(score) / highest if score and highest > 0 else 0.0
    if score is None or share < _WEAK:
        return Text(piece)
    if _coloured(console):
        return Text(piece, _style(score, highest))
    sign = ("*" if not has_sign else "+" if score > 0 else "-") * (2 if share >= _STRONG else 1)
    return Text(f"[{sign}{piece}]")


def _grid(console: Console, explanation: Explanation, field: str) -> list[Text]:
    """The patches as a small map, a row of cells per row of patches."""
    scored = [(u, s) for u, s in zip(explanation.units, explanation.scores, strict=True) if u.field == field]
    scored.sort(key=lambda pair: pair[0].span)
    highest = greatest(explanation)
    rows = [Text("image patches:", "dim")]
    for _, row in groupby(scored, key=lambda pair: pair[0].span[0]):
        rows.append(Text().join(_cell(console, score, highest) for _, score in row))
    return rows


def _cell(console: Console, score: float, highest: float) -> Text:
    if _coloured(console):
        return _mark(console, "  ", score, highest)
    cell = _mark(console, "", score, highest)
    return Text((cell.plain or ".").ljust(5))


def _top_words(explanation: Explanation, top: int) -> str:
    words = [f"{_short(_printable(word.name))} {word.told}" for word in strongest_words(explanation, top)]
    return "top: " + ", ".join(words) if words else ""


def _short(word: str, limit: int = 30) -> str:
    return word if len(word) <= limit else word[: limit - 1] + "…"


def _style(score: float, highest: float) -> Style:
    paper = _paper()
    return Style(color=hexadecimal(paper.ink), bgcolor=hexadecimal(blend(score, highest, paper.paper)))


def _paper() -> Paper:
    """What the terminal says of its background in COLORFGBG; most that say nothing are dark."""
    return LIGHT if os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else DARK


def _printable(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)
