"""What a study is: models trained in several ways on several data sets, and the parts of the data that it takes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from veridical.core.storage import text_file
from veridical.core.values import TEXT, Example
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

    `name` is how tables call it, `data` is what it is loaded by; `sources` names other data for a split that this does
    not have. `variants` are the ways to train that are tried on it, by their names in the study; without a list, all of
    them. `documents` says for a look of the study how many
    examples of the test split are looked at, the first ones; without a number, all of them. `elsewhere` names other
    data that the same models are looked at on without more training. `ratio` is the share of a text that its rationales
    keep; without one no classifier is trained on rationales. `settings` are of the model, as `max_length`. `model` and
    `schedule` are those of the preset, unless the data set has its own.
    """

    name: str
    data: str
    sizes: Sizes | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    documents: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    ratio: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    schedule: Schedule | None = None


@dataclass(frozen=True)
class Preset:
    """A size of a study: which data and how much of it, which model, how many seeds, how long to train.

    Where a variant has several objectives, the first `tune_on` documents of the dev split decide between them.
    `variants` are those of the study whose ways to train are others in this size. With `looks` of its own, models are
    looked at in these ways, and not in those of the study.
    """

    data_sets: tuple[StudyData, ...]
    model: str = "embedded"
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    tune_on: int = 100
    variants: Mapping[str, Variant] = field(default_factory=dict)
    looks: Mapping[str, Look] = field(default_factory=dict)

    @property
    def setting(self) -> str:
        """Model, seeds and lengths of training, in words."""
        seeds = ", ".join(map(str, self.seeds))
        plan = self.schedule
        told = [f"model {self.model}", f"{plan.epochs:g} epochs in batches of {plan.batch_size}", *_rates(plan)]
        told += ["in bfloat16 on a processor that has it"] if plan.bf16 else []
        return ", ".join([*told, f"seeds {seeds}"])


@dataclass(frozen=True)
class Variant:
    """A way to train: an objective, and settings of the model beside those of the data set.

    With several objectives it is tuned: the dev split decides which of them is taken. While the last of them wins, the
    next of `further` ones is tried, too: what does best may lie beyond them. A variant that `follows` another is not
    tuned itself: it takes the objective in the same place of its own list, so that both have the same weight.

    It is compared with the variants `against` which it is held, by default the first of the study. With `matched` it is
    also compared with the model of the first of them when it is made as sure of itself, by dividing its logits: raw
    sufficiency and comprehensiveness move when a model is only less sure. A `control` is not there to be better than
    anything: its tests take no part in the correction for many tests.

    `layer` is the method that comes with a model trained in this way. With `after` it begins with the model of another
    variant and the same seed, which comes before it, and not with the pretrained one.
    """

    objectives: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    further: tuple[str, ...] = ()
    follows: str | None = None
    against: tuple[str, ...] = ()
    matched: bool = True
    control: bool = False
    layer: str | None = None
    after: str | None = None

    @property
    def candidates(self) -> tuple[str, ...]:
        """All objectives that may be taken."""
        return (*self.objectives, *self.further)


LAYER = "its layer"
"""What tables call the method that comes with a model, whichever it is."""


@dataclass(frozen=True)
class Look:
    """An audit that a study makes of each of its models.

    `{layer}` among the methods is the layer of the variant: one without a layer is not looked at in this way. The name
    of a variant in braces, among the metrics, is the folder of its model of the same seed; it comes before those that
    it judges. `{fresh}` is the folder of the classifier that reads the rationales cut by this model, on data with a
    `ratio`. With `by_class` there are also the means over the documents of each class.
    """

    methods: str
    metrics: str
    by_class: bool = False

    @property
    def is_of_layers(self) -> bool:
        """Whether it looks at models by the layers they come with."""
        return "{layer}" in self.methods

    def asked(self, variant: Variant, folders: Mapping[str, str]) -> Look | None:
        """The look at a model of a variant, given the folders of models by their variants; None if there is none."""
        names = {**folders, **({"layer": variant.layer} if variant.layer else {})}
        try:
            return replace(self, methods=self.methods.format_map(names), metrics=self.metrics.format_map(names))
        except KeyError:
            return None


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

    `variants` are ways to train, by name: the first is what the others are compared with. `best_by` is the dev figure
    that the best checkpoint is kept by.

    Models of each variant are looked at in several ways, by name. The first of the `looks` is also taken at data from
    elsewhere and at models that are made as sure. The explanations of `likeness_method`, which is in the first look,
    are compared between seeds, and with those of a model that is not trained.
    """

    name: str
    title: str
    variants: Mapping[str, Variant]
    looks: Mapping[str, Look]
    presets: Mapping[str, Preset]
    best_by: str = "macro_f1"
    likeness_method: str | None = None
    published: tuple[Figure, ...] = ()

    @property
    def first(self) -> str:
        """The variant that others are compared with."""
        return next(iter(self.variants))

    @property
    def main(self) -> str:
        """The look that is also taken elsewhere."""
        return next(iter(self.looks))

    def bases_of(self, variant: str) -> tuple[str, ...]:
        """What a variant is compared with; nothing for the first."""
        return () if variant == self.first else self.variants[variant].against or (self.first,)

    def needed_by(self, variant: str) -> set[str]:
        """The variants whose models of the same seed have to be there before this one is trained and looked at."""
        asked = self.variants[variant]
        first = {asked.after} if asked.after else set()
        as_sure = set(self.bases_of(variant)[:1]) if asked.matched else set()
        looks = [look for look in self.looks.values() if asked.layer or not look.is_of_layers]
        named = {name for look in looks for name in self.variants if f"{{{name}}}" in look.metrics}
        direct = first | as_sure | named - {variant}
        return direct.union(*(self.needed_by(each) for each in direct))

    def in_size(self, size: str) -> Study:
        """The study as it is done in one of its sizes."""
        preset = self.presets[size]
        return replace(self, variants={**self.variants, **preset.variants}, looks=preset.looks or self.looks)

    def variants_on(self, data_set: StudyData) -> tuple[str, ...]:
        """The variants that are trained on a data set."""
        return data_set.variants or tuple(self.variants)


def _rates(plan: Schedule) -> list[str]:
    """The learning rates in words, if they are said."""
    return [f"rates {plan.rate:g} and {plan.head_rate:g}"] if plan.rate and plan.head_rate else []


def written_data_set(data_set: StudyData) -> str:
    """How much of which data, in words."""
    told = [f"the whole of {data_set.data}"]
    if data_set.sizes:
        sizes = f"{data_set.sizes.train:,} / {data_set.sizes.dev:,} / {data_set.sizes.test:,}"
        equally = ", equally by class for training" if data_set.sizes.balanced else ""
        told = [f"at most {sizes} texts drawn from train, dev and test of {data_set.data}{equally}"]
    told += [f"{count} test documents for {look}" for look, count in data_set.documents.items()] or ["all of test"]
    told += [f"{split} from {data}" for split, data in data_set.sources.items()]
    told += [f"elsewhere {data}" for data in data_set.elsewhere.values()]
    told += [f"rationales of {data_set.ratio:.0%}"] if data_set.ratio else []
    told += [f"{name} {value}" for name, value in data_set.settings.items()]
    told += [f"model {data_set.model}"] if data_set.model else []
    told += (
        [
            f"{data_set.schedule.epochs:g} epochs",
            f"batches of {data_set.schedule.batch_size}",
            *_rates(data_set.schedule),
        ]
        if data_set.schedule
        else []
    )
    return "; ".join(told)


def data_of(data_set: StudyData, folder: Path) -> str:
    """The name that loads a data set of a study; drawn parts are written to the folder once."""
    sizes = data_set.sizes
    if sizes is None and not data_set.sources:
        return data_set.data
    counts = (sizes.train, sizes.dev, sizes.test) if sizes else (None, None, None)
    for split, count in zip(("train", "dev", "test"), counts, strict=True):
        goal = folder / f"{split}.jsonl"
        if not goal.exists():
            goal.parent.mkdir(parents=True, exist_ok=True)
            whole = load(data_set.sources.get(split) or in_split(data_set.data, split))
            with text_file(goal) as file:
                file.writelines(_line(example) for example in _drawn(whole, split, count, sizes))
    return str(folder)


def first(name: str, split: str, count: int | None) -> str:
    """The name of the first examples of a split; of all of them without a count."""
    return in_split(name, split) + ("" if count is None else f"[:{count}]")


def _drawn(whole: Dataset, split: str, count: int | None, sizes: Sizes | None) -> Sequence[Example]:
    if sizes is None or count is None:
        return whole.examples
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
    told: dict[str, Any] = {"id": example.id, **example.inputs, "label": example.label}
    if spans := [list(unit.span) for unit in example.evidence if unit.field == TEXT]:
        told["rationales"] = spans
    return json.dumps(told, ensure_ascii=False) + "\n"
