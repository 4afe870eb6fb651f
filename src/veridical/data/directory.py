"""What lies in a folder, and in the directory that the environment variable `VERIDICAL_DATA` names."""

from __future__ import annotations

import os
from pathlib import Path

from veridical.core.errors import UsageError, VeridicalError
from veridical.data.dataset import Source
from veridical.data.eraser_folders import EraserFolder, is_eraser_folder
from veridical.data.folders import DataFile, DataFolder, split_files
from veridical.data.image_folders import ARCHIVE, ImageFolder
from veridical.data.tables import Columns, read_rows

VARIABLE = "VERIDICAL_DATA"


def open_path(path: Path, columns: Columns) -> Source:
    """The source for a file or folder, by what is in it."""
    if path.suffix == ".npz":
        return ImageFolder(path, columns)
    if not path.is_dir():
        return DataFile(path, columns)
    if is_eraser_folder(path):
        return EraserFolder(path, columns)
    if (path / ARCHIVE).exists():
        return ImageFolder(path / ARCHIVE, columns)
    if not split_files(path):
        remedy = "It needs train, dev or test files (.csv, .tsv, .jsonl, .parquet), docs or data.npz; or name one file."
        raise UsageError(f"the folder {path} holds no data set", remedy=remedy)
    return DataFolder(path, columns)


def shared_sets() -> dict[str, Path]:
    """The data sets of the directory by name; none when the variable is not set."""
    value = os.environ.get(VARIABLE)
    if not value:
        return {}
    root = Path(value).expanduser()
    if not root.is_dir():
        raise UsageError(f"{VARIABLE} names {root}, which is not a folder", remedy="Correct or unset it.")
    return {path.name: path for path in sorted(root.iterdir()) if path.is_dir() and _holds_data(path)}


def describe(path: Path) -> tuple[str, str]:
    """The task of a folder's data and a line about it, judged by its first row."""
    source = open_path(path, Columns())
    first = next(read_rows(next(iter(split_files(path).values()))), None) if isinstance(source, DataFolder) else None
    if first is None:
        return source.task, (type(source).__doc__ or "").strip().partition("\n")[0]
    kind = "pair" if "text_pair" in first.values else "text"
    return f"{kind} {_aim(first.values.get('label'))}", f"columns: {', '.join(first.values)}"


def _aim(label: object) -> str:
    if isinstance(label, list):
        return "multi-label classification"
    return "regression" if isinstance(label, float) else "classification"


def _holds_data(path: Path) -> bool:
    try:
        return bool(open_path(path, Columns()).splits())
    except (VeridicalError, OSError):
        return False
