"""The same training with several seeds, for figures with a spread."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from veridical.run.training import Trained, train
from veridical.training import Schedule


@dataclass(frozen=True)
class Spread:
    """The mean of a figure over runs and its standard deviation (of a sample); 0 for a single run."""

    mean: float
    std: float
    runs: int


def train_seeds(
    data: str,
    out: str | PathLike[str],
    seeds: Sequence[int],
    *,
    schedule: Schedule | None = None,
    starting: Callable[[int], None] = lambda _seed: None,
    **rest: Any,
) -> list[Trained]:
    """Train once for each seed: into `out` itself for one seed, into `out/seed-N` for several.

    What is already trained is not trained again. `starting` is called with each seed before its turn; the other
    arguments are those of `train`.
    """
    done = []
    for seed in seeds:
        starting(seed)
        own = replace(schedule or Schedule(), seed=seed)
        done.append(train(data, folder_of(out, seed, seeds), schedule=own, **rest))
    return done


def folder_of(out: str | PathLike[str], seed: int, seeds: Sequence[int]) -> Path:
    """Where the model of a seed lies."""
    return Path(out) if len(seeds) == 1 else Path(out) / f"seed-{seed}"


def spread(figures: Iterable[Mapping[str, float]]) -> dict[str, Spread]:
    """The spread of each figure that all runs have."""
    runs = list(figures)
    names = [name for name in (runs[0] if runs else {}) if all(name in run for run in runs)]
    return {name: _spread([run[name] for run in runs]) for name in names}


def _spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0, len(values))
