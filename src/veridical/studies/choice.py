"""Which objective, or which weight of one, gives the best explanations? Train with each, audit each on dev."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.audits import Audit
from veridical.audits.job import audit
from veridical.audits.plan import methods_of, metrics_of
from veridical.audits.publication import publish
from veridical.audits.statistics.findings import Contrast
from veridical.audits.statistics.tables import directed
from veridical.core.errors import UsageError
from veridical.core.progress import Progress
from veridical.data import Dataset, in_split, load
from veridical.data.name import file_name
from veridical.explainers import EXPLAINERS
from veridical.metrics import METRICS
from veridical.models import Classifier
from veridical.objectives import OBJECTIVES
from veridical.run.train import Trained, train
from veridical.training import Schedule

METRIC = "normalised-aopc(exact=4, beam=1, most=8)"
"""What decides unless something else is said: values of models compare, and a text takes some 80 questions."""

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Candidate:
    """An objective, its trainings, and the mean of the metric over documents for each of them.

    `skill` is the mean over seeds of the dev figure that checkpoints were kept by. `contrast` is the first candidate
    minus this one, paired by document after averaging over seeds. One that lost too much skill is not `eligible`.
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
    """All candidates, and the one that does best by a metric of a method; `figure` is what `skill` means."""

    method: str
    metric: str
    greater_is_better: bool
    figure: str
    candidates: tuple[Candidate, ...]
    best: Candidate


def choose(
    data: str,
    out: str | PathLike[str],
    objectives: Sequence[str],
    *,
    method: str = "attention",
    metric: str = METRIC,
    documents: int = 100,
    lose: float | None = 0.02,
    seeds: Sequence[int] = (0,),
    schedule: Schedule | None = None,
    progress: Progress = lambda _what, _done, _total: None,
    **rest: Any,
) -> Choice:
    """Train with each objective and each seed, and see on the dev split whose explanations are best.

    The first `documents` of the split are audited. A candidate that is worse than the first by more than `lose`, in the
    dev figure that checkpoints are kept by, cannot be chosen; None lets any win. Models are kept in
    `model_folder(out, objective, seed)`, and the same call goes on where an earlier one stopped. The other arguments
    are those of `train`.
    """
    wanted = list(dict.fromkeys(OBJECTIVES.written(OBJECTIVES.create(each)) for each in objectives))
    if len(wanted) < 2:
        raise UsageError("there is nothing to choose from", remedy="Give at least two different objectives.")
    method, metric = _one_method(method), _one_metric(metric)
    examples = load(rest.get("dev") or in_split(data, "dev"))[:documents]
    trained, audits = list[list[Trained]](), list[list[Audit]]()
    for objective in wanted:
        trained.append([])
        audits.append([])
        for seed in seeds:
            folder, own = model_folder(out, objective, seed), replace(schedule or Schedule(), seed=seed)
            progress(f"training with {objective}, seed {seed}", 0, 1)
            trained[-1].append(train(data, folder, objective=objective, schedule=own, **rest))
            goal, told = folder.parent / "audit-dev", f"{objective}, seed {seed}"
            audits[-1].append(_judged(audit_folder(folder, examples, method, metric, goal, told, progress), method))
    return _choice(wanted, trained, audits, method, (schedule or Schedule()).metric, lose)


def model_folder(out: str | PathLike[str], objective: str, seed: int) -> Path:
    """Where the model of a candidate lies; its audit is beside it."""
    written = OBJECTIVES.written(OBJECTIVES.create(objective))
    return Path(out) / file_name(written) / f"seed-{seed}" / "model"


def audit_folder(
    model: Path, examples: Dataset, methods: str, metrics: str, out: Path, told: str, progress: Progress
) -> Audit:
    """Audit one of several models that are compared: without times and reversed orders, which say nothing of that."""
    found = audit(
        Classifier.load(model),
        examples,
        methods,
        metrics,
        out=out,
        timed=0,
        reverse=False,
        progress=lambda what, done, total: progress(f"{told}: {what}", done, total),
    )
    publish(out)
    return found


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


def _judged(found: Audit, method: str) -> Audit:
    """An audit that has what decides; a method that the model has no means for is left out of it."""
    if all(each.name != method for each in found.methods):
        raise UsageError(
            f"the model cannot be explained by {method}: {found.skipped.get(method, 'it was left out')}",
            remedy="Choose by another method.",
        )
    return found


def _values(audits: Sequence[Audit], method: str) -> NDArray[np.float64]:
    """A number for each seed and document, [S, D]."""
    return np.stack([found.values(found.metrics[0].name, method) for found in audits])


def _choice(
    objectives: Sequence[str],
    trained: Sequence[Sequence[Trained]],
    audits: Sequence[Sequence[Audit]],
    method: str,
    figure: str | None,
    lose: float | None,
) -> Choice:
    audited, values = audits[0][0].metrics[0], [_values(each, method) for each in audits]
    figure = figure or next(name for name in ("pearson", "accuracy") if name in trained[0][0].dev)
    skills = [statistics.fmean(each.dev[figure] for each in runs) for runs in trained]
    sign = -1 if figure == "loss" else 1
    means = [each.mean(0) for each in values]
    contrasts = directed(
        [means[0] - each for each in means[1:]], [audited.greater_is_better] * len(means[1:]), "bootstrap"
    )
    candidates = tuple(
        Candidate(
            objective,
            tuple(runs),
            tuple(np.nanmean(found, 1).tolist()),
            skill,
            lose is None or sign * (skills[0] - skill) <= lose + _TOLERANCE,
            contrast,
        )
        for objective, runs, found, skill, contrast in zip(
            objectives, trained, values, skills, [None, *contrasts], strict=True
        )
    )
    up = 1 if audited.greater_is_better else -1
    best = max((each for each in candidates if each.eligible), key=lambda each: up * each.mean)
    return Choice(method, audited.name, audited.greater_is_better, figure, candidates, best)
