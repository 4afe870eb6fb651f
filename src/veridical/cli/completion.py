"""What the shell offers when a name is begun and the tab key pressed: names from the catalogue, folders from the disk.

None of this loads a model library: a person waits for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from veridical.core.model_names import CONFIG, MODELS

Completer = Callable[[str], list[str]]

_DEEPEST = 4
_MOST_FOLDERS = 2000
"""How much of the disk is looked at below the folder that was begun: runs lie at runs/NAME/seed-0."""


def words(*known: str) -> Completer:
    """Completes words that are given here."""

    def complete(incomplete: str) -> list[str]:
        return [each for each in known if each.startswith(incomplete)]

    return complete


def names(*tables: str, also: Iterable[str] = ()) -> Completer:
    """Completes the last of several names from tables of the catalogue, `attention,lim`, and after `(` its presets."""

    def complete(incomplete: str) -> list[str]:
        before, last = _parts(incomplete)
        return [before + each for each in (*also, *_known(tables, last)) if each.startswith(last)]

    return complete


def _parts(incomplete: str) -> tuple[str, str]:
    """What stands before the name that is being written, and that name: `a(x=1, y=2),b` ends in `b`."""
    begun = re.search(r"[^,+()\s]*(\([^()]*)?$", incomplete)
    assert begun is not None  # it matches nothing at the end, too
    return incomplete[: begun.start()], begun.group()


def _known(tables: Iterable[str], last: str) -> Iterator[str]:
    """Names; once a parenthesis is open, which the shell wants in quotes, presets as well."""
    from veridical.run.catalogue import rows

    for row in (row for table in tables for row in rows(table)):
        if "(" not in last:
            yield row["name"]
        else:
            yield from (f"{row['name']}(preset={preset})" for preset in row.get("presets", ()))


def papers(incomplete: str) -> list[str]:
    """Completes studies that can be done again."""
    from veridical.studies import STUDIES

    return words(*STUDIES)(incomplete)


def sizes(incomplete: str) -> list[str]:
    """Completes the sizes of studies."""
    from veridical.studies import STUDIES

    return words(*dict.fromkeys(size for study in STUDIES.values() for size in study.presets))(incomplete)


def trained_models(incomplete: str) -> list[str]:
    """Completes folders of models."""
    return list(_folders(incomplete, CONFIG))


def new_models(incomplete: str) -> list[str]:
    """Completes models to start a training from: those with a name, and folders."""
    return [*words(*MODELS)(incomplete), *trained_models(incomplete)]


def audit_folders(incomplete: str) -> list[str]:
    """Completes folders of audits."""
    from veridical.audits.store import AUDIT_FILE

    return list(_folders(incomplete, AUDIT_FILE))


def _folders(incomplete: str, file: str) -> Iterator[str]:
    """Folders that hold a file and whose path begins like this, the shallowest first."""
    start = Path(os.path.expanduser(incomplete if incomplete.endswith("/") else os.path.dirname(incomplete)))
    for folder in islice(_below(start), _MOST_FOLDERS):
        if str(folder).startswith(os.path.expanduser(incomplete)) and (folder / file).is_file():
            yield str(folder)


def _below(start: Path) -> Iterator[Path]:
    """The folders below one, level by level."""
    level = [start]
    for _ in range(_DEEPEST):
        level = [inner for folder in level for inner in _inside(folder)]
        yield from level


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    except OSError:  # not ours to read
        return []
