"""Any Python text as valid Unicode, and back.

A Python `str` may hold lone surrogates (a tweet cut in the middle of an emoji), which neither UTF-8 nor Arrow can.
JSON's own escapes do not help: they would join two neighbouring surrogates into one character. So a surrogate is
written as a mark that no real text contains and its code; every other text stays exactly as it is.
"""

from __future__ import annotations

import re

MARK = "\U0010ffff"
"""A noncharacter: valid in UTF-8, and set aside by Unicode for a program's own use."""

_SPECIAL = re.compile(f"[\ud800-\udfff{MARK}]")
_ESCAPED = re.compile(f"{MARK}([0-9a-f]{{6}})")


def escape(text: str) -> str:
    """The text without surrogates; `unescape` brings them back."""
    return text if text.isascii() else _SPECIAL.sub(lambda found: f"{MARK}{ord(found.group()):06x}", text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text) if MARK in text else text
