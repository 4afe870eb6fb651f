"""`load`: from the name of some data, `SOURCE[(options)][:SPLIT][SUBSET]`, to its examples."""

from __future__ import annotations

import difflib
import os
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veridical.core.component import check_options
from veridical.core.errors import InputError, UsageError, VeridicalWarning
from veridical.core.syntax import Term, parse_options
from veridical.core.values import short
from veridical.data.columns import Columns
from veridical.data.dataset import SPLITS, Chance, Dataset, Source, find_split
from veridical.data.hub import PREFIX, HubData
from veridical.data.sources import DATASETS, VARIABLE, open_path, shared_sets
from veridical.data.tables import format_of

GRAMMAR = "A name is SOURCE(option=value):SPLIT[SUBSET], such as reviews:test[:500]."
SUBSETS = "A subset is [start:stop] or [count@seed], such as [:500], [100:200] or [500@3] (500 at random, seed 3)."

# Options start with `key=`, so that a path such as `data (1).csv` is not taken for a source with options.
_NAME = re.compile(
    r"(?P<source>(?:hf:)?[^:].*?)"
    r"(?:\((?P<options>\s*|\s*[A-Za-z_]\w*\s*=.*)\))?"
    r"(?::(?P<split>[A-Za-z][\w-]*))?"
    r"(?P<subsets>(?:\[[^\[\]]*\])*)",
    re.DOTALL,
)
# No data has numbers of more than 18 digits, and Python refuses to read those of thousands.
_SLICE = re.compile(r"\s*(-?\d{1,18})?\s*:\s*(-?\d{1,18})?\s*(?::\s*(-?\d{1,18})?\s*)?")
_DRAW = re.compile(r"\s*(\d{1,18})\s*@\s*(\d{1,18})\s*")


@dataclass(frozen=True)
class DataName:
    """A name taken apart; `subsets` are applied from left to right."""

    source: str
    options: Mapping[str, Any]
    split: str | None = None
    subsets: tuple[str, ...] = ()

    def __str__(self) -> str:
        # A term would quote some sources, which are paths here; its options are written as everywhere else.
        options = str(Term("x", dict(self.options))).removeprefix("x")
        split = f":{self.split}" if self.split else ""
        return "".join([self.source, options, split, *(f"[{each}]" for each in self.subsets)])


def parse_name(text: str | os.PathLike[str]) -> DataName:
    """Take a name apart; whether such data exists is not asked here."""
    name = os.fspath(text) if isinstance(text, os.PathLike) else text
    found = _NAME.fullmatch(name.strip()) if isinstance(name, str) else None
    if not found:
        raise UsageError(f"cannot read the data name {short(name)}", remedy=GRAMMAR)
    subsets = tuple(re.findall(r"\[([^\[\]]*)\]", found["subsets"]))
    for subset in subsets:
        _check_subset(subset)
    return DataName(found["source"], parse_options(found["options"] or ""), found["split"], subsets)


_LONGEST = 300


def names_data(text: str) -> bool:
    """Whether a text is the name of data that exists, and would be odd as anything else: a file, or a part of a set."""
    if len(text) > _LONGEST:
        return False  # a document: taking it apart would only cost time
    try:
        asked = parse_name(text)
    except UsageError:
        return False
    is_part = bool(asked.subsets or asked.options or asked.split in SPLITS)
    if asked.source in DATASETS or asked.source in shared_sets():
        return is_part
    return bool(format_of(Path(asked.source))) and os.path.exists(asked.source)


def in_split(text: str, split: str) -> str:
    """The name of the same data in another split, whole: `reviews:train[:100]` in dev is `reviews:dev`."""
    return str(replace(parse_name(text), split=split, subsets=()))


def to_train_on(text: str) -> str:
    """The name of what `train` learns from, for data that was named without a split: `reviews` is `reviews:train`."""
    name = parse_name(text)
    return str(replace(name, split=name.split or "train"))


def file_name(text: str) -> str:
    """A name that a folder can have: letters and digits of the text, and dashes."""
    return re.sub(r"[^0-9A-Za-z_]+", "-", text).strip("-")


def whole(text: str) -> str:
    """The name of the data without its subsets: `reviews:test[:100]` is a part of `reviews:test`."""
    return str(replace(parse_name(text), subsets=()))


def select(dataset: Dataset, subset: str) -> Dataset:
    """The part of a data set that a subset names. A slice that ends too late gives what there is."""
    if draw := _DRAW.fullmatch(subset):
        return _drawn(dataset, subset, int(draw[1]), int(draw[2]))
    part = dataset[_slice(subset)]
    if not part:
        raise UsageError(f"[{subset}] selects nothing: {dataset.name} has {len(dataset)} examples")
    _note_one_class(dataset, part)
    return part


_HARDLY = 0.01


def _note_one_class(dataset: Dataset, part: Dataset) -> None:
    """Say that a part has one class only, where chance would hardly ever give that: the data is sorted by class."""
    counts = Counter(example.label for example in dataset)
    label = part[0].label
    if not isinstance(label, str) or len(counts) < 2 or any(example.label != label for example in part):
        return
    if (counts[label] / len(dataset)) ** len(part) < _HARDLY:
        warnings.warn(
            f"all {len(part):,} examples of {part.name} have the label {label!r}, and {dataset.name} has {len(counts)} "
            f"classes: it seems to be sorted by class; {dataset.name}[{len(part)}@0] takes as many at random",
            VeridicalWarning,
            stacklevel=4,
        )


def _drawn(dataset: Dataset, subset: str, count: int, seed: int) -> Dataset:
    # In the drawn order: [100@3] is the beginning of [500@3], and files sorted by class come out mixed.
    if not 0 < count <= len(dataset):
        problem = f"cannot draw {count} examples from {dataset.name}, which has {len(dataset)}"
        raise UsageError(problem, remedy=f"Draw between 1 and {len(dataset)}.")
    drawn = Chance("subset", seed).shuffled(dataset.examples)[:count]
    return Dataset(f"{dataset.name}[{subset}]", tuple(drawn), dataset.labels)


def _check_subset(subset: str) -> None:
    if not _DRAW.fullmatch(subset):
        _slice(subset)


def _slice(subset: str) -> slice:
    found = _SLICE.fullmatch(subset)
    if not found or (found[3] and not int(found[3])):
        raise UsageError(f"cannot read the subset [{subset}]", remedy=SUBSETS)
    return slice(*(None if part is None else int(part) for part in found.groups()))


def load(name: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> Dataset:
    """Load the data that a name describes; the same name always gives the same examples.

        load("reviews:test[:500]")                                # the first 500
        load("reviews:train[500@3]")                              # 500 drawn with seed 3
        load("planted(rule=negation, seed=1):dev")                # made, with known reasons
        load("mine.csv(text=review, label=stars):test")           # your file; the split is drawn
        load("mine.csv", columns={"text": "the review"})          # the same options as a mapping
        load("hf:glue/sst2:validation")                           # from the Hugging Face hub

    A name means, in this order: a built-in (or plug-in) set, a folder in the directory `VERIDICAL_DATA`, a path. Write
    `./reviews` for a folder of your own that is called like a built-in set. The default split is train, and the whole
    for a single file.
    """
    asked = parse_name(name)
    asked = replace(asked, options={**asked.options, **(columns or {})})
    source = find_source(asked)
    split = find_split(asked.split or source.default_split, source.splits(), asked.source)
    dataset = replace(source.load(split), name=str(replace(asked, split=split, subsets=())))
    for subset in asked.subsets:
        dataset = select(dataset, subset)
    return dataset


def find_source(asked: DataName) -> Source:
    """The source that a name means, with its options."""
    if asked.source.startswith(PREFIX):
        return HubData(asked.source.removeprefix(PREFIX), _columns(asked))
    if asked.source in DATASETS:
        return DATASETS.build(asked.source, asked.options)
    shared = shared_sets()
    path = shared.get(asked.source) or Path(asked.source).expanduser()
    if not os.path.exists(path):  # unlike Path.exists it also answers for names no file system allows
        raise _not_found(asked.source, path, [*DATASETS, *shared])
    return open_path(path, _columns(asked))


def _columns(asked: DataName) -> Columns:
    return Columns(**check_options(Columns, asked.source, asked.options))


def _not_found(source: str, path: Path, known: list[str]) -> UsageError | InputError:
    if any(mark in source for mark in "()[]"):
        return UsageError(f"cannot read the data name {source!r}", remedy=f"{GRAMMAR} {SUBSETS}")
    if len(path.parts) > 1 or format_of(path):
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1)
        return InputError(f"there is no file or folder {path}", remedy=f"Did you mean {near[0]!r}?" if near else None)
    near = difflib.get_close_matches(source, known, n=3)
    hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    remedy = f"{hint}There are: {', '.join(sorted(known))}; more in the directory that {VARIABLE} names, and any path."
    return UsageError(f"unknown data set {source!r}", remedy=remedy)
