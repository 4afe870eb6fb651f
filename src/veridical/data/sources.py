"""The table of data sets that have a name of their own, and what there is: the rows of `veridical list data`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from veridical.core.errors import VeridicalError
from veridical.core.registry import Registry
from veridical.data.dataset import Source
from veridical.data.digits import Digits
from veridical.data.directory import describe, open_path, shared_sets
from veridical.data.movies import Imdb, Reviews
from veridical.data.planted import PlantedTexts
from veridical.data.planted_images import PlantedImages
from veridical.data.planted_pairs import PlantedPairs
from veridical.data.tables import Columns

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
