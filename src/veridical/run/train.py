"""Train a classifier from names: data, model and objective in, a folder with the best model out; for several seeds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from veridical.core.errors import InputError, UsageError
from veridical.core.folders import TrainRecord
from veridical.core.progress import Watch
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.masking import Engine
from veridical.models import Classifier
from veridical.models.new import start
from veridical.objectives import OBJECTIVES, Objective
from veridical.run.folder import RunFolder, is_main
from veridical.run.handle import versions
from veridical.training.checkpoints import remove_checkpoints
from veridical.training.evaluation import compared, own_figures
from veridical.training.fit import check_classes, fit, save_trained
from veridical.training.processes import predict_together
from veridical.training.schedule import Schedule


@dataclass(frozen=True)
class Trained:
    """A finished training: where it is, its figures on dev and test, and whether it was already there.

    `notes` are sentences that somebody should know beside the figures, as that the dev figure is no better than chance.
    """

    out: str
    dev: dict[str, float]
    test: dict[str, float]
    resumed_from: int
    was_done: bool = False
    notes: tuple[str, ...] = ()


def train(
    data: str,
    out: str | PathLike[str],
    *,
    model: str = "embedded",
    dev: str | None = None,
    objective: str | PathLike[str] | Objective = "cross-entropy",
    schedule: Schedule | None = None,
    settings: Mapping[str, Any] | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    watch: Watch | None = None,
) -> Trained:
    """Train on a data set and save the best model by its dev split; the test split, if any, is only reported on.

    A second call with the same arguments goes on from the last checkpoint, or finds the finished model.
    """
    schedule, watch, folder = schedule or Schedule(), watch or Watch(), Path(out)
    loss = OBJECTIVES.create(objective)
    schedule.require_logger()
    run, record = RunFolder(folder), _record(data, model, dev, loss, schedule, settings or {})
    if (before := run.previous(record)) and before.done:
        Classifier.load(folder)  # a record without its model is no finished run
        return Trained(str(folder), before.dev, before.test, 0, was_done=True, notes=tuple(before.notes))
    examples, held_out, test = _splits(data, dev)
    classifier = start(model, examples, _labels(examples), schedule.seed, **(settings or {}))
    if test:
        classifier.gold(test.examples)  # a label that it does not know is named now, not after the training
    with run.held(record):
        fitted = fit(classifier, loss, examples, held_out, folder, schedule, callbacks, watch)
        figures = _tested(classifier, fitted.objective, test, watch) if test else {}
        if is_main():
            save_trained(classifier, fitted.objective, folder)
            history, notes = list(fitted.history), list(fitted.notes)
            run.write(replace(record, dev=fitted.dev, test=figures, history=history, notes=notes, done=True))
            remove_checkpoints(folder)
    return Trained(str(folder), fitted.dev, figures, fitted.resumed_from, notes=fitted.notes)


def _tested(classifier: Classifier, objective: Objective, test: Dataset, watch: Watch) -> dict[str, float]:
    """The figures on the test split, which processes that train together share out among them, and the objective's.

    So a model that has a mask is tested in both ways: alone, and with its mask in place.
    """
    engine = Engine(watch=lambda _rows: watch.check())
    found = compared(classifier, predict_together(classifier, test.examples, engine), test.examples)
    return {**found, **own_figures(classifier, objective, test.examples)}


def _splits(data: str, dev: str | None) -> tuple[Dataset, Dataset, Dataset | None]:
    """The training data as named (by default its train split), its dev split, and its test split where it has one."""
    name = to_train_on(data)
    examples = load(name)
    if not examples.labels and not examples.is_regression:
        raise InputError(f"{name} has no labels", field="label", remedy="Name the label column: data.csv(label=...).")
    if not examples.is_regression:
        check_classes(examples.examples)
    return examples, load(dev or in_split(data, "dev")), test_of(data)


def test_of(data: str) -> Dataset | None:
    """The test split; none where there is none, or where its labels are kept secret, as those of benchmarks are."""
    try:
        test = load(in_split(data, "test"))
    except UsageError:
        return None
    return None if all(example.label is None for example in test) else test


def _labels(examples: Dataset) -> tuple[str, ...]:
    return () if examples.is_regression else examples.labels


def _record(
    data: str, model: str, dev: str | None, objective: Objective, schedule: Schedule, settings: Mapping[str, Any]
) -> TrainRecord:
    return TrainRecord(
        data=data,
        dev_data=dev,
        model=model,
        objective=OBJECTIVES.spec(objective),
        schedule=asdict(schedule),
        settings=dict(settings),
        versions=versions(),
    )


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
    watch: Watch | None = None,
    **rest: Any,
) -> list[Trained]:
    """Train once for each seed: into `out` itself for one seed, into `out/seed-N` for several.

    What is already trained is not trained again. The other arguments are those of `train`.
    """
    watch, done = watch or Watch(), []
    for seed in seeds:
        own = replace(schedule or Schedule(), seed=seed)
        part = watch.within(f"seed {seed}") if len(seeds) > 1 else watch
        done.append(train(data, folder_of(out, seed, seeds), schedule=own, watch=part, **rest))
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
