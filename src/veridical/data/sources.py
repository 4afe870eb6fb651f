"""Where data comes from: sets with a name of their own, folders, and the directory that `VERIDICAL_DATA` names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from veridical.core.errors import UsageError, VeridicalError
from veridical.core.registry import Registry
from veridical.data.columns import Columns
from veridical.data.dataset import Source
from veridical.data.digits import Digits
from veridical.data.eraser_folders import EraserFolder, is_eraser_folder
from veridical.data.folders import ARCHIVE, DataFile, DataFolder, ImageFolder, split_files
from veridical.data.movies import Imdb, Reviews
from veridical.data.neutral import Neutral
from veridical.data.planted import PlantedTexts
from veridical.data.planted_images import PlantedImages
from veridical.data.planted_pairs import PlantedPairs
from veridical.data.tables import read_rows

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


DATASETS: Registry[Source] = Registry(
    "data set",
    "veridical.data",
    {
        "reviews": Reviews,
        "imdb": Imdb,
        "planted": PlantedTexts,
        "planted-pairs": PlantedPairs,
        "planted-images": PlantedImages,
        "digits": Digits,
        "neutral": Neutral,
    },
)


@dataclass(frozen=True)
class Entry:
    """A data set in the catalogue; `name` is what `load` takes, `where` is what it needs or the folder it is in."""

    name: str
    task: str
    splits: tuple[str, ...]
    description: str
    where: str


def catalogue() -> list[Entry]:
    """Every named data set, built-in and plug-in, then those of the directory `VERIDICAL_DATA`."""
    named = [_named(name, cls) for name, cls in DATASETS.items()]
    return named + [_shared(name, path) for name, path in shared_sets().items()]


def _named(name: str, cls: type[Source]) -> Entry:
    description = (cls.__doc__ or "").strip().partition("\n")[0]
    return Entry(name, cls.task, cls().splits(), description, cls.where)


def _shared(name: str, path: Path) -> Entry:
    # A built-in set keeps its name wherever it is loaded; the one it hides is reached by its path.
    name = str(path) if name in DATASETS else name
    try:
        task, description = describe(path)
    except VeridicalError as error:
        task, description = "not readable", str(error)
    return Entry(name, task, open_path(path, Columns()).splits(), description, str(path))
