"""Specs side by side: which are equal, and in what others differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from veridical.audits.record import AuditedMethod
from veridical.audits.statistics.findings import plain


def method_spec(method: AuditedMethod) -> Mapping[str, Any]:
    """The name and options of a method, from the spec of its explanations."""
    spec = method.spec.get("method", method.spec)
    return spec if isinstance(spec, Mapping) else {"name": spec}


def key(spec: Mapping[str, Any]) -> str:
    """The same text for equal specs, whether they come from memory or from a file."""
    return json.dumps(plain(spec), sort_keys=True)


def changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The options in which two specs differ: `eraser (delete, pad)`."""
    mine, theirs = plain(one), plain(other)
    names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    return ", ".join(f"{name} ({mine.get(name, 'none')}, {theirs.get(name, 'none')})" for name in names)
