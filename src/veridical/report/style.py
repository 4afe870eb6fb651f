"""The look of every view: its colours, and the one way from values to HTML.

Orange speaks for the target, blue against it, the stronger the deeper. The two stay apart for all common kinds of
colour blindness. The colours are tints laid over the paper, never so deep that the ink on them would be hard to read,
on white paper as on dark.

Templates escape every value which is not HTML already. The type says which is which: a `Markup` is finished HTML, any
other value is text and is escaped when a template writes it. Nobody has to remember to escape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

RGB = tuple[int, int, int]

FOR: RGB = (232, 113, 10)
AGAINST: RGB = (38, 128, 226)
DEEPEST = 0.6
"""How much of the colour the strongest score gets: deeper, and light ink on dark paper falls under contrast 4.5."""


@dataclass(frozen=True)
class Paper:
    """What the colours are laid on, and the ink of the text."""

    paper: RGB
    ink: RGB


LIGHT = Paper((255, 255, 255), (27, 30, 36))
DARK = Paper((24, 26, 31), (240, 241, 244))

# A page sets these CSS variables to follow the reader's light or dark setting; a notebook gets the light values.
PAPER = "var(--vd-paper,#ffffff)"
INK = "var(--vd-ink,#1b1e24)"
SOFT = "var(--vd-soft,#5b6270)"
LINE = "var(--vd-line,#d9dce3)"


def hue(score: float) -> RGB:
    """The pure colour of a score's sign."""
    return FOR if score > 0 else AGAINST


def depth(score: float, greatest: float) -> float:
    """How strongly to tint: 0 for no score, `DEEPEST` for the greatest one in size."""
    return DEEPEST * min(1.0, abs(score) / greatest) if greatest > 0 else 0.0


def tint(score: float, greatest: float) -> str:
    """The tint as a CSS colour, transparent so that it suits any paper."""
    red, green, blue = hue(score)
    return f"rgba({red},{green},{blue},{depth(score, greatest):.3f})"


def blend(score: float, greatest: float, paper: RGB) -> RGB:
    """The colour that the tint gives on that paper."""
    share = depth(score, greatest)
    red, green, blue = (round(share * top + (1 - share) * under) for top, under in zip(hue(score), paper, strict=True))
    return red, green, blue


def hexadecimal(colour: RGB) -> str:
    """The colour as `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def contrast(one: RGB, other: RGB) -> float:
    """The contrast ratio of WCAG 2, from 1 to 21; text needs 4.5."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: RGB) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")  # no place in HTML or UTF-8


def escaped(value: object) -> Markup:
    """The value as HTML, safe in content and in attributes; characters that HTML cannot hold become U+FFFD."""
    if isinstance(value, Markup):
        return value
    text = str(value)
    if not _CONTROL.search(text):  # nearly always: a page writes every word of every text by this function
        return escape(text)
    # A carriage return is written as its number: browsers read a plain one as a line feed.
    return escape(_UNPRINTABLE.sub("\ufffd", text)).replace("\r", Markup("&#13;"))


def environment(*packages: str) -> Environment:
    """The templates in the folders `templates` of these packages. A template that misses a value fails."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        finalize=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"FOR": FOR, "AGAINST": AGAINST, "LIGHT": LIGHT, "DARK": DARK, "tint": tint}
    made.globals |= {"PAPER": PAPER, "INK": INK, "SOFT": SOFT, "LINE": LINE}
    made.filters |= {"hex": hexadecimal, "pretty": pretty}
    return made


def pretty(value: Any) -> str:
    """Data as JSON, to be read and copied."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


TEMPLATES = environment("veridical.report")
"""The templates of pages and notebooks."""


def figure_page(title: str, sentences: Sequence[str], drawing: Markup) -> str:
    """A drawing with a few sentences, as self-contained HTML."""
    values = {"title": title, "sentences": sentences, "drawing": drawing}
    return TEMPLATES.get_template("figure.html").render(values)


def overview(title: str, sentences: Sequence[str], head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """What a notebook shows of many numbers, as self-contained HTML: a few sentences, and a table."""
    values = {"title": title, "sentences": sentences, "head": head, "rows": rows}
    return TEMPLATES.get_template("overview.html").render(values)
