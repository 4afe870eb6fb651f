"""What a study is: models trained in several ways on several data sets, and the same measurements of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veridical.training.schedule import DevFigure, Schedule


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
    """A data set in a study, by its name: what models are trained on, and of what they are audited.

    The first `audited` examples of its test split are (None: all of it), and the first `attacked`. `elsewhere` names
    other data that the same models are audited on without more training. `ratio` is the share of a text that its
    rationales keep; without one no classifier is trained on rationales here. `settings` are of the model, as
    `max_length`. The `schedule` is that of the size, unless the site has its own.
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
    """A size of a study: which data and how much of it, which model, how many seeds, how long to train."""

    sites: tuple[StudyData, ...]
    model: str = "embedded"
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    tune_on: int = 100
    """How many documents of the dev split decide between settings."""


@dataclass(frozen=True)
class Figure:
    """A published number: a metric of a method for models trained in one way (`variant`) on a data set."""

    site: str
    variant: str
    metric: str
    method: str
    value: float


@dataclass(frozen=True)
class Study:
    """A study as data.

    `variants` are ways to train, by name: the first is what the others are compared with. One with several objectives
    is tuned: the one with the best `tune_by` metric of the `tune_with` method on the dev split is taken. A variant that
    `follows` another takes the objective in the same place of its own list, so that a control has the weight of
    what it controls for; it is done where sites have a ratio. Checkpoints are kept by `kept_by` on the dev split.

    Models of each variant are audited by `methods` and `metrics`, and by the `attack`, if it has one; where a site has
    a ratio, rationales by `fresh_with` train a classifier that sees nothing else. `alike` is the method whose
    explanations are compared between seeds, and with those of a model that is not trained.
    """

    name: str
    title: str
    variants: Mapping[str, tuple[str, ...]]
    methods: str
    metrics: str
    presets: Mapping[str, Preset]
    follows: Mapping[str, str] = field(default_factory=dict)
    best_by: DevFigure = "macro_f1"
    tune_by: str = "decision-flip"
    tune_with: str = "attention"
    attack: str | None = None
    fresh_with: str = "attention"
    likeness_method: str | None = None
    published: tuple[Figure, ...] = ()


def written_preset(preset: Preset) -> str:
    """Model, seeds and lengths of training, in words."""
    seeds = ", ".join(map(str, preset.seeds))
    plan = preset.schedule
    rates = f", rates {plan.rate:g} and {plan.head_rate:g}" if plan.rate and plan.head_rate else ""
    return f"model {preset.model}, {plan.epochs:g} epochs in batches of {plan.batch_size}{rates}, seeds {seeds}"


def written_site(site: StudyData) -> str:
    """How much of which data, in words."""
    told = [f"the whole of {site.data}"]
    if site.sizes:
        sizes = f"{site.sizes.train:,} / {site.sizes.dev:,} / {site.sizes.test:,}"
        equally = ", equally by class for training" if site.sizes.balanced else ""
        told = [f"at most {sizes} texts drawn from train, dev and test of {site.data}{equally}"]
    told += [f"{site.audited} audited" if site.audited else "all of test audited"]
    told += [f"elsewhere {data}" for data in site.elsewhere.values()]
    told += [f"rationales of {site.ratio:.0%}"] if site.ratio else []
    told += [f"{name} {value}" for name, value in site.settings.items()]
    told += [f"{site.schedule.epochs:g} epochs", f"batches of {site.schedule.batch_size}"] if site.schedule else []
    return "; ".join(told)
