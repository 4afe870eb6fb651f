"""Names that a command was given, checked before torch is loaded: a typing mistake is answered at once.

What the names mean, with their options, is checked by the job itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from veridical.core.component import unknown
from veridical.core.folders import looks_like_path
from veridical.core.syntax import Term, parse, parse_several
from veridical.core.values import HUMAN


def check_methods(text: str) -> None:
    """Refuse unknown methods of an audit, or the one of `explain`."""
    if text.strip() and not os.path.isdir(text):  # a folder that exists needs no quotes, whatever is in its name
        _check("explainer", parse_several(text), ["explainers"], [HUMAN])


def check_metrics(text: str) -> None:
    """Refuse unknown metrics and sets of them."""
    _check("metric or set of metrics", parse_several(text), ["metrics", "metric-sets"])


def check_objectives(texts: Iterable[str]) -> None:
    """Refuse unknown objectives, each of which may be a sum of several."""
    for text in texts:
        if not os.path.isdir(text):
            _check("objective", parse(text), ["objectives"])


def _check(kind: str, terms: Sequence[Term], tables: Sequence[str], also: Sequence[str] = ()) -> None:
    from veridical.run.catalogue import rows

    known = dict.fromkeys([*(row["name"] for table in tables for row in rows(table)), *also])
    for term in terms:
        if term.name not in known and not looks_like_path(term.name) and not os.path.isdir(term.name):
            raise unknown(kind, term.name, known)
