"""What every page shares: a head that forbids scripts and outside requests, and files that appear when complete."""

from __future__ import annotations

from veridical.core.drawing import escaped

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
