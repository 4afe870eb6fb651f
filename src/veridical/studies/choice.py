"""Which objective, or which weight of one, gives the best explanations? Train with each, audit each on dev."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from veridical.audits import Audit
from veridical.audits.job import audit
from veridical.audits.plan import methods_of, metrics_of
from veridical.audits.statistics.findings import plain
from veridical.core.errors import UsageError
from veridical.core.folders import RunRecord
from veridical.core.progress import Watch
from veridical.core.storage import write_json
from veridical.data import Dataset, in_split, load
from veridical.data.name import file_name
from veridical.explainers import EXPLAINERS
from veridical.metrics import METRICS
from veridical.objectives import OBJECTIVES
from veridical.run.folder import RunFolder
from veridical.run.handle import versions
from veridical.run.train import Trained, train
from veridical.studies.decision import Choice, decide
from veridical.training import Schedule

CHOICE_FILE = "choice.json"

METRIC = "normalised-aopc(exact=4, beam=1, most=8)"
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


def audit_folder(model: Path, examples: Dataset, methods: str, metrics: str, out: Path, watch: Watch) -> Audit:
    """Audit one of several models that are compared: without times and reversed orders, which say nothing of that."""
    return audit(model, examples, methods, metrics, out=out, timed=0, reverse=False, watch=watch)


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
