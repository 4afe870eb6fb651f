"""From one format to the other."""

from __future__ import annotations

import os
from pathlib import Path

from veridical.core.errors import UsageError
from veridical.core.files.reading import AnyPath, is_parquet, journal_of, read
from veridical.core.files.writing import ExplanationWriter


def convert(source: AnyPath, target: AnyPath) -> int:
    """Copy an explanation file into the format that the target's name asks for, and return how many it has.

    Nothing is lost either way. The target appears only when it is complete.
    """
    goal = Path(target)
    rows = read(source)
    is_parquet(goal)
    if goal.exists():
        raise UsageError(f"{goal} exists already", remedy="Delete it or choose another name.")
    unfinished = goal.with_name(f"{goal.stem}.converting{goal.suffix}")
    unfinished.unlink(missing_ok=True)
    try:
        with ExplanationWriter(unfinished) as writer:
            writer.write(rows)
        os.replace(unfinished, goal)
    finally:
        unfinished.unlink(missing_ok=True)
        journal_of(unfinished).unlink(missing_ok=True)
    return writer.count
