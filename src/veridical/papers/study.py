"""What a study is: models trained in several ways on several data sets, and the same measurements of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Site:
    """A data set in a study, by the names that load it: what is trained on, and what the models are audited on.

    `elsewhere` is other data that the same models are audited on without more training. `ratio` is the share of a text
    that its rationales keep.
    """

    name: str
    train: str
    test: str
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    ratio: float = 0.2


@dataclass(frozen=True)
class Preset:
    """A size of a study: which data and how much of it, which model, how many seeds, how long to train."""

    sites: tuple[Site, ...]
    model: str = "embedded"
    seeds: tuple[int, ...] = (0, 1, 2)
    epochs: float = 3.0
    batch_size: int = 32
    checks: int = 2
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
    is tuned: the one with the best `tune_by` metric of the `tune_with` method on the dev split is taken. Models of each
    variant are audited by `methods` and `metrics`; `fresh` variants also choose rationales by `fresh_with` for a
    classifier that sees nothing else; `alike` is the method whose explanations are compared between seeds.
    """

    name: str
    title: str
    variants: Mapping[str, tuple[str, ...]]
    methods: str
    metrics: str
    presets: Mapping[str, Preset]
    tune_by: str = "decision-flip"
    tune_with: str = "attention"
    fresh: tuple[str, ...] = ()
    fresh_with: str = "attention"
    alike: str | None = None
    published: tuple[Figure, ...] = ()
