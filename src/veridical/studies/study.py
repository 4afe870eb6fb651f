"""What a study is: models trained in several ways on several data sets, and the parts of the data that it takes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veridical.core.storage import text_file
from veridical.core.values import Example
from veridical.data import Dataset, in_split, load
from veridical.data.loader import select
from veridical.training.schedule import Schedule


@dataclass(frozen=True)
class Sizes:
    """How much of a data set a study takes: drawn at random from each split, by seed 0.

    `balanced` draws as many training examples of each class, or all there are: a small part of very unequal classes
    would teach a model the largest one and nothing else.
    """

    train: int
    dev: int
    test: int
    balanced: bool = False


@dataclass(frozen=True)
class StudyData:
    """A data set in a study: what models are trained on, and which of its examples they are audited on.

    `name` is how tables call it, `data` is what it is loaded by. The first `audited` examples of its test split are
    audited (None: all of them), and the first `attacked` are attacked. `elsewhere` names other data that the same
    models are audited on without more training. `ratio` is the share of a text that its rationales keep; without one no
    classifier is trained on rationales. `settings` are of the model, as `max_length`. The `schedule` is that of the
    preset, unless the data set has its own.
    """

    name: str
    data: str
    sizes: Sizes | None = None
    audited: int | None = None
    attacked: int | None = None
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    ratio: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    schedule: Schedule | None = None


@dataclass(frozen=True)
class Preset:
    """A size of a study: which data and how much of it, which model, how many seeds, how long to train.

    Where a variant has several objectives, the first `tune_on` documents of the dev split decide between them.
    """

    data_sets: tuple[StudyData, ...]
    model: str = "embedded"
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    tune_on: int = 100


@dataclass(frozen=True)
class Figure:
    """A published number: a metric of a method for models trained in one way (`variant`) on a data set."""

    data_set: str
    variant: str
    metric: str
    method: str
    value: float


@dataclass(frozen=True)
class Study:
    """A study as data.

    `variants` are ways to train, by name: the first is what the others are compared with. A variant with several
    objectives is tuned: the dev split decides which of them is taken. A variant that `follows` another takes the
    objective in the same place of its own list, so that a control has the weight of what it controls for; it is trained
    where a data set has a ratio. `best_by` is the dev figure that the best checkpoint is kept by.

    Models of each variant are audited by `methods` and `metrics`, and by the `attack`, if there is one. The
    explanations of `likeness_method` are compared between seeds, and with those of a model that is not trained.
    """

    name: str
    title: str
    variants: Mapping[str, tuple[str, ...]]
    methods: str
    metrics: str
    presets: Mapping[str, Preset]
    follows: Mapping[str, str] = field(default_factory=dict)
    best_by: str = "macro_f1"
    attack: str | None = None
    likeness_method: str | None = None
    published: tuple[Figure, ...] = ()


def written_preset(preset: Preset) -> str:
    """Model, seeds and lengths of training, in words."""
    seeds = ", ".join(map(str, preset.seeds))
    plan = preset.schedule
    rates = f", rates {plan.rate:g} and {plan.head_rate:g}" if plan.rate and plan.head_rate else ""
    return f"model {preset.model}, {plan.epochs:g} epochs in batches of {plan.batch_size}{rates}, seeds {seeds}"


def written_data_set(data_set: StudyData) -> str:
    """How much of which data, in words."""
    told = [f"the whole of {data_set.data}"]
    if data_set.sizes:
        sizes = f"{data_set.sizes.train:,} / {data_set.sizes.dev:,} / {data_set.sizes.test:,}"
        equally = ", equally by class for training" if data_set.sizes.balanced else ""
        told = [f"at most {sizes} texts drawn from train, dev and test of {data_set.data}{equally}"]
    told += [f"{data_set.audited} audited" if data_set.audited else "all of test audited"]
    told += [f"elsewhere {data}" for data in data_set.elsewhere.values()]
    told += [f"rationales of {data_set.ratio:.0%}"] if data_set.ratio else []
    told += [f"{name} {value}" for name, value in data_set.settings.items()]
    told += (
        [f"{data_set.schedule.epochs:g} epochs", f"batches of {data_set.schedule.batch_size}"]
        if data_set.schedule
        else []
    )
    return "; ".join(told)


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
