"""The data of a study: a whole data set by its name, or parts of its splits in a folder of the study's own."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from veridical.core.example import Example
from veridical.core.storage import text_file
from veridical.data import Dataset, in_split, load
from veridical.data.name import select
from veridical.studies.study import Sizes, StudyData


def data_of(data_set: StudyData, folder: Path) -> str:
    """The name that loads a data set of a study; drawn parts are written to the folder once."""
    if data_set.sizes is None:
        return data_set.data
    for split, count in (("train", data_set.sizes.train), ("dev", data_set.sizes.dev), ("test", data_set.sizes.test)):
        goal = folder / f"{split}.jsonl"
        if not goal.exists():
            goal.parent.mkdir(parents=True, exist_ok=True)
            whole = load(in_split(data_set.data, split))
            with text_file(goal) as file:
                file.writelines(_line(example) for example in _drawn(whole, split, count, data_set.sizes))
    return str(folder)


def first(name: str, split: str, count: int | None) -> str:
    """The name of the first examples of a split; of all of them without a count."""
    return in_split(name, split) + ("" if count is None else f"[:{count}]")


def _drawn(whole: Dataset, split: str, count: int, sizes: Sizes) -> Sequence[Example]:
    drawn = select(whole, f"{len(whole)}@0").examples
    if not (sizes.balanced and split == "train"):
        return drawn[:count]
    room: dict[object, int] = defaultdict(lambda: count // len(whole.labels))
    chosen = []
    for example in drawn:
        if room[example.label]:
            room[example.label] -= 1
            chosen.append(example)
    return chosen


def _line(example: Example) -> str:
    return json.dumps({"id": example.id, **example.inputs, "label": example.label}, ensure_ascii=False) + "\n"
