"""The one way from values to HTML: templates that escape every value which is not HTML already.

The type says which is which: a `Markup` is finished HTML, any other value is text and is escaped when a template
writes it. Nobody has to remember to escape.
"""

from __future__ import annotations

import json
import re
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from veridical.report import colours

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
    made.globals["colours"] = colours
    made.filters |= {"hex": colours.hexadecimal, "pretty": pretty}
    return made


def pretty(value: Any) -> str:
    """Data as JSON, to be read and copied."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


TEMPLATES = environment("veridical.report")
"""The templates of pages and notebooks."""
