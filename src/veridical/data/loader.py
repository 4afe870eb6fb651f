"""`load`: from a name to the data, wherever it lives."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from veridical.core.component import check_options
from veridical.core.errors import InputError, UsageError
from veridical.data.dataset import Dataset, Source
from veridical.data.directory import VARIABLE, open_path, shared_sets
from veridical.data.hub import PREFIX, HubData
from veridical.data.name import GRAMMAR, SUBSETS, DataName, parse_name, select
from veridical.data.sources import DATASETS
from veridical.data.splits import find_split
from veridical.data.tables import Columns, format_of


def load(name: str, columns: Mapping[str, str] | None = None) -> Dataset:
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
