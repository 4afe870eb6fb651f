"""Which objective gives the best explanations? Train with each, audit each on dev, and compare shared documents."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from veridical.audits import Audit
from veridical.audits.job import audit
from veridical.audits.plan import Methods, Metrics, methods_of, metrics_of
from veridical.audits.statistics.findings import Contrast, plain
from veridical.audits.statistics.summary import contrasts
from veridical.core.errors import UsageError
from veridical.core.folders import RunRecord
from veridical.core.progress import Watch
from veridical.core.storage import write_json
from veridical.data import Dataset, in_split, load
from veridical.data.loader import file_name
from veridical.explainers import EXPLAINERS
from veridical.metrics import METRICS
from veridical.objectives import OBJECTIVES
from veridical.run.folder import RunFolder
from veridical.run.handle import Model, versions
from veridical.run.train import Trained, train
from veridical.training import Schedule

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9

_MAIN_FIGURES = ("pearson", "micro_f1", "accuracy")
"""Figures that checkpoints are kept by, unless another one is named; sets of labels have an accuracy, too."""


@dataclass(frozen=True)
class Candidate:
    """An objective, its trainings, and the mean of the metric over documents for each of them.

    `skill` is the mean over seeds of the dev figure that checkpoints were kept by; a candidate that lost too much of it
    is not `eligible`. `contrast` is the first candidate minus this one, paired by document after averaging over seeds.
    Means are NaN where the metric is undefined for all documents of a seed; there is no contrast then.
    """

    objective: str
    trained: tuple[Trained, ...]
    means: tuple[float, ...]
    skill: float
    eligible: bool
    contrast: Contrast | None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.means)


@dataclass(frozen=True)
class Choice:
    """All candidates, and the one that does best by a metric of a method; `figure` is what `skill` means.

    `documents` is how many decided: those for which the metric of every candidate is defined.
    """

    method: str
    metric: str
    greater_is_better: bool
    figure: str
    documents: int
    candidates: tuple[Candidate, ...]
    best: Candidate


def decide(
    trained: Mapping[str, Sequence[Trained]],
    audits: Mapping[str, Sequence[Audit]],
    method: str,
    figure: str | None,
    lose: float | None,
) -> Choice:
    """The best of several candidates, by the first metric of their audits and one method.

    `trained` and `audits` have one entry per objective, the first of which is the base, and one value per seed there.
    `figure` is the dev figure that checkpoints were kept by, and `lose` how much of it the best may have lost.
    """
    first, metric = next(iter(trained)), next(iter(audits.values()))[0].metrics[0]
    figure = figure or next(name for name in _MAIN_FIGURES if name in trained[first][0].dev)
    documents = list(dict.fromkeys(each.id for found in audits.values() for one in found for each in one.documents))
    values = _shared({name: aligned(found, metric.name, method, documents) for name, found in audits.items()})
    compared = _compared(values, first, metric.greater_is_better)
    skills = {name: statistics.fmean(each.dev[figure] for each in runs) for name, runs in trained.items()}
    sign = -1 if figure == "loss" else 1
    candidates = tuple(
        Candidate(
            objective=name,
            trained=tuple(runs),
            means=tuple(values[name].mean(1).tolist()),
            skill=skills[name],
            eligible=lose is None or sign * (skills[first] - skills[name]) <= lose + _TOLERANCE,
            contrast=compared.get(name),
        )
        for name, runs in trained.items()
    )
    best = _best(candidates, metric.name, metric.greater_is_better)
    return Choice(
        method, metric.name, metric.greater_is_better, figure, values[best.objective].shape[1], candidates, best
    )


def aligned(audits: Sequence[Audit], metric: str, method: str, documents: Sequence[str]) -> Floats:
    """One number for each audit and document, [A, D]; NaN where an audit has none."""
    found = [dict(zip([each.id for each in one.documents], one.values(metric, method), strict=True)) for one in audits]
    return np.array([[values.get(document, np.nan) for document in documents] for values in found])


def _shared(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """The values [S, D] of documents that every candidate has; a candidate without any does not count, and is NaN."""
    undefined = {name for name, found in values.items() if np.isnan(found).all(1).any()}
    known = [~np.isnan(found).any(0) for name, found in values.items() if name not in undefined]
    shared = np.logical_and.reduce(known) if known else np.zeros(0, dtype=bool)
    return {
        name: np.full((len(found), 1), np.nan) if name in undefined or not shared.any() else found[:, shared]
        for name, found in values.items()
    }


def _compared(values: Mapping[str, Floats], first: str, greater: bool) -> dict[str, Contrast]:
    """The first candidate minus each other one, document by document after averaging over seeds."""
    means = {name: found.mean(0) for name, found in values.items()}  # [D]
    others = [name for name in means if name != first and not np.isnan(means[first] - means[name]).any()]
    found = contrasts([means[first] - means[name] for name in others], [greater] * len(others))
    return dict(zip(others, found, strict=True))


def _best(candidates: Sequence[Candidate], metric: str, greater: bool) -> Candidate:
    possible = [each for each in candidates if each.eligible and not np.isnan(each.mean)]
    if not possible:
        raise UsageError(
            f"nothing can be chosen by {metric}: it is undefined for every candidate that may win, or for every "
            "document that they share",
            remedy="Choose by another metric or method, or audit more documents.",
        )
    return max(possible, key=lambda each: each.mean if greater else -each.mean)


CHOICE_FILE = "choice.json"

METRIC = "normalised-aopc(exact=4, most=8)"
"""What decides unless something else is said: values of models compare, and a text takes some 80 questions."""


@dataclass(frozen=True, kw_only=True)
class ChoiceRecord(RunRecord):
    """What the trainings of a folder share. Objectives and what decides may differ from call to call."""

    job: ClassVar[str] = "choose"

    data: str
    dev_data: str | None
    model: str
    schedule: dict[str, Any]
    settings: dict[str, Any]


def choose(
    data: str,
    out: str | PathLike[str],
    objectives: Sequence[str],
    *,
    method: str = "attention",
    metric: str = METRIC,
    documents: int = 100,
    lose: float | None = 0.02,
    model: str = "embedded",
    dev: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (0,),
    schedule: Schedule | None = None,
    watch: Watch | None = None,
) -> Choice:
    """Train with each objective and each seed, and see on the dev split whose explanations are best.

    The first `documents` of the split are audited. A candidate that is worse than the first by more than `lose`, in the
    dev figure that checkpoints are kept by, cannot be chosen; None lets any win. Models are kept in
    `model_folder(out, objective, seed)`, the choice in `choice.json`, and the same call goes on where an earlier one
    stopped. `model`, `dev`, `settings` and `schedule` are those of `train`.
    """
    schedule, watch = schedule or Schedule(), watch or Watch()
    schedule.require_logger()
    wanted = list(dict.fromkeys(OBJECTIVES.written(OBJECTIVES.create(each)) for each in objectives))
    if len(wanted) < 2:
        raise UsageError("there is nothing to choose from", remedy="Give at least two different objectives.")
    method, metric = _one_method(method), _one_metric(metric)
    examples = load(dev or in_split(data, "dev"))[:documents]
    run, record = RunFolder(out), _record(data, model, dev, schedule, settings or {})
    trained, audits = dict[str, list[Trained]](), dict[str, list[Audit]]()
    with run.held(record):
        for objective, seed in product(wanted, seeds):
            folder, part = model_folder(out, objective, seed), watch.within(f"{objective}, seed {seed}")
            done = train(
                data,
                folder,
                model=model,
                dev=dev,
                objective=objective,
                schedule=replace(schedule, seed=seed),
                settings=settings,
                watch=part,
            )
            found = audit_folder(folder, examples, method, metric, folder.parent / "audit-dev", part)
            trained.setdefault(objective, []).append(done)
            audits.setdefault(objective, []).append(_with_method(found, method))
        choice = decide(trained, audits, method, schedule.metric, lose)
        write_json(run.path / CHOICE_FILE, plain(choice))
        run.write(replace(record, done=True))
    return choice


def model_folder(out: str | PathLike[str], objective: str, seed: int) -> Path:
    """Where the model of a candidate lies; its audit is beside it."""
    written = OBJECTIVES.written(OBJECTIVES.create(objective))
    return Path(out) / file_name(written) / f"seed-{seed}" / "model"


def audit_folder(
    model: Model,
    examples: Dataset,
    methods: Methods,
    metrics: Metrics,
    out: Path,
    watch: Watch,
    files: Sequence[Path] = (),
) -> Audit:
    """Audit one of several models that are compared: without times and reversed orders, which say nothing of that.

    One draw is enough for the floor: no method of a single model is held against it, and seeds and documents are many.
    """
    return audit(
        model,
        examples,
        methods,
        metrics,
        explanations=files,
        out=out,
        timed=0,
        reverse=False,
        draws=1,
        watch=watch,
    )


def _record(data: str, model: str, dev: str | None, schedule: Schedule, settings: Mapping[str, Any]) -> ChoiceRecord:
    return ChoiceRecord(
        data=data,
        dev_data=dev,
        model=model,
        schedule=asdict(replace(schedule, seed=0)),  # each seed is a training of its own
        settings=dict(settings),
        versions=versions(),
    )


def _one_method(text: str) -> str:
    explainers, people = methods_of(text)
    if people or len(explainers) != 1:
        raise UsageError(f"{text!r} is not one method of explanation", remedy="Name one: `veridical list explainers`.")
    return EXPLAINERS.written(explainers[0])


def _one_metric(text: str) -> str:
    metrics = metrics_of(text)
    if len(metrics) != 1:
        raise UsageError(f"{text!r} is not one metric", remedy="Name one: `veridical list metrics`.")
    if metrics[0].subject == "model":
        raise UsageError(
            f"{text!r} judges models and not their explanations", remedy="Choose by one that judges explanations."
        )
    return METRICS.written(metrics[0])


def _with_method(found: Audit, method: str) -> Audit:
    """An audit that has what decides; a method that the model has no means for is left out of it."""
    if all(each.name != method for each in found.methods):
        raise UsageError(
            f"the model cannot be explained by {method}: {found.skipped.get(method, 'it was left out')}",
            remedy="Choose by another method.",
        )
    return found
