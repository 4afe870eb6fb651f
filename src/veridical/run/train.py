"""Train a classifier from names: data, model and objective in, a folder with the best model out; for several seeds."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers import TrainerCallback

from veridical.core.errors import InputError, StorageError, UsageError
from veridical.core.storage import OutputLock
from veridical.data import Dataset, in_split, load, to_train_on
from veridical.models import Classifier
from veridical.models.loader import RUN_FILE
from veridical.models.new import start
from veridical.objectives import OBJECTIVES
from veridical.run.handle import versions
from veridical.training import Schedule, fit
from veridical.training.evaluation import evaluate
from veridical.training.fit import check_classes, remove_checkpoints


@dataclass(frozen=True)
class Trained:
    """A finished training: where it is, its figures on dev and test, and whether it was already there."""

    out: str
    dev: dict[str, float]
    test: dict[str, float]
    resumed_from: int
    was_done: bool = False


def train(
    data: str,
    out: str | PathLike[str],
    *,
    model: str = "embedded",
    dev: str | None = None,
    objective: str = "cross-entropy",
    schedule: Schedule | None = None,
    settings: dict[str, Any] | None = None,
    callbacks: Sequence[TrainerCallback] = (),
) -> Trained:
    """Train on a data set and save the best model by its dev split; the test split, if any, is only reported on.

    A second call with the same arguments goes on from the last checkpoint, or finds the finished model.
    """
    schedule = schedule or Schedule()
    folder = Path(out)
    spec = _spec(data, model, dev, objective, schedule, settings or {})
    if done := _finished(folder, spec):
        return done
    examples, held_out, test = _splits(data, dev)
    classifier = start(model, examples, _labels(examples), schedule.seed, **(settings or {}))
    if test:
        classifier.gold(test.examples)  # a label that it does not know is named now, not after the training
    with _sole_writer(folder):
        _write(folder / RUN_FILE, {**spec, "done": False})
        fitted = fit(classifier, OBJECTIVES.create(objective), examples, held_out, folder, schedule, callbacks)
        figures = evaluate(classifier, test) if test else {}
        if _is_main():
            classifier.save(folder)
            history = list(fitted.history)
            _write(folder / RUN_FILE, {**spec, "dev": fitted.dev, "test": figures, "history": history, "done": True})
            remove_checkpoints(folder)
    return Trained(str(folder), fitted.dev, figures, fitted.resumed_from)


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


def _spec(
    data: str, model: str, dev: str | None, objective: str, schedule: Schedule, settings: dict[str, Any]
) -> dict[str, Any]:
    return {
        "data": data,
        "dev_data": dev,
        "model": model,
        "objective": OBJECTIVES.spec(OBJECTIVES.create(objective)),
        "schedule": asdict(schedule),
        "settings": settings,
        "versions": versions(),
    }


def _finished(folder: Path, spec: dict[str, Any]) -> Trained | None:
    """The finished run in a folder, if it is this one; a folder that holds another run is refused."""
    path = folder / RUN_FILE
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise StorageError(f"{path} is damaged: {error}", remedy="Choose another --out.") from error
    differing = [key for key in spec if key != "versions" and record.get(key) != json.loads(json.dumps(spec[key]))]
    if differing:
        raise UsageError(
            f"{folder} holds another run, which differs in: {', '.join(differing)}", remedy="Choose another --out."
        )
    if not record.get("done"):
        return None
    Classifier.load(folder)  # a record without its model is no finished run
    return Trained(str(folder), record["dev"], record["test"], 0, was_done=True)


@contextmanager
def _sole_writer(folder: Path) -> Iterator[None]:
    """Nobody else trains into the folder meanwhile, and a disk that is full is said to be full."""
    lock = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = OutputLock(folder) if _is_main() else None
        yield
    except (OSError, SafetensorError) as error:
        remedy = "Free some space or choose another --out; the same command goes on from the last checkpoint."
        raise StorageError(f"cannot write to {folder}: {error}", remedy=remedy) from error
    finally:
        if lock is not None:
            lock.release()


def _is_main() -> bool:
    """Whether this process writes; of several that train together, only the first does."""
    return os.environ.get("RANK", "0") == "0"


def _write(path: Path, record: dict[str, Any]) -> None:
    if not _is_main():
        return
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(record, indent=2, allow_nan=True) + "\n")
    unfinished.replace(path)


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
