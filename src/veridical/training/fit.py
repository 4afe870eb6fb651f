"""Train a classifier: checkpoints, the best one kept, going on after an interruption, and what an objective leaves."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from transformers import EarlyStoppingCallback, PrinterCallback, TrainerCallback, TrainingArguments
from transformers.trainer_utils import set_seed

from veridical.core.component import unknown
from veridical.core.errors import InputError, ModelError, UsageError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.models.architecture import quietly
from veridical.models.classifier import EXPLAINERS_FOLDER, learned_with
from veridical.models.transformer import Transformer
from veridical.models.weights import Learned
from veridical.objectives import OBJECTIVES, Objective
from veridical.objectives.base import ATTENTIONS, explainers_of, parts_of, prepare
from veridical.training.evaluation import main_figure
from veridical.training.schedule import Schedule
from veridical.training.trainer import CaseTrainer, Trainee, no_attention_dropout


def save_trained(classifier: Transformer, objective: Objective, folder: str | PathLike[str]) -> None:
    """Save a model that was just trained, with the explainers that its objective leaves: `Classifier.load` finds all.

    From then on these explainers work with this model only.
    """
    classifier.learned = {}  # explainers of the model that it was before
    classifier.save(folder)
    left = explainers_of(objective)
    together = classifier.fingerprint_with(
        {name: each.fingerprint for name, each in left.items() if isinstance(each, Learned)}
    )
    for name, explainer in left.items():
        if isinstance(explainer, Learned):
            explainer.bind_to(together)
        EXPLAINERS.save(explainer, Path(folder) / EXPLAINERS_FOLDER / name)
    classifier.learned = learned_with(folder)


def check_explainers(objective: Objective) -> None:
    """Refuse an objective whose explainers could not be saved, before anything is trained."""
    for name, explainer in explainers_of(objective).items():
        if EXPLAINERS.name_of(EXPLAINERS.create(explainer)) not in EXPLAINERS:
            raise UsageError(
                f"the explainer {name!r} that {type(objective).__name__} leaves could not be saved: its class "
                f"{type(explainer).__name__} has no name",
                remedy='Put @register.explainer("...") on the class.',
            )


_A_FEW = 4  # examples that show which figures there are


@dataclass(frozen=True)
class Fitted:
    """How a training went: the dev figures of the best checkpoint, every logged line, and the step it resumed from.

    `objective` is the one that was trained: prepared for the data, and its own weights those of the best checkpoint.
    """

    dev: dict[str, float]
    history: tuple[dict[str, float], ...]
    resumed_from: int
    objective: Objective


def fit(
    classifier: Transformer,
    objective: Objective,
    examples: Sequence[Example],
    dev: Sequence[Example],
    out: str | PathLike[str],
    schedule: Schedule | None = None,
    callbacks: Sequence[TrainerCallback] = (),
) -> Fitted:
    """Train in place; afterwards classifier and objective have the weights of the best checkpoint by the dev metric.

    Checkpoints go to `out`/checkpoint-STEP; if there are some, training goes on from the last. The seed governs the
    order of examples and dropout; the head's first weights come with the classifier.
    """
    schedule = schedule or Schedule()
    _check(classifier, objective, examples, dev)
    folder = Path(out)
    objective = prepare(objective, classifier, examples)
    check_explainers(objective)
    trainee = Trainee(classifier, objective)
    metric = _metric(trainee, schedule, dev)
    set_seed(schedule.seed)
    trainer = CaseTrainer(
        trainee,
        examples,
        dev,
        schedule.head_rate or (1e-3 if _is_small(classifier) else 5e-4),
        args=_arguments(classifier, schedule, metric, len(examples), folder),
        callbacks=[*_early_stopping(schedule), *callbacks],
    )
    trainer.remove_callback(PrinterCallback)
    last = _last_checkpoint(folder)
    with quietly(), _attention_as_needed(classifier, objective, examples):
        trainer.train(resume_from_checkpoint=last)
    best = trainer.state.best_metric
    if best is None or not math.isfinite(best):
        raise ModelError("training diverged: the dev metric is not a number", remedy="Lower the learning rate.")
    trainee.parts.eval()
    history = tuple(dict(line) for line in trainer.state.log_history)
    return Fitted(_best_line(trainer, history), history, _step(last), objective)


def remove_checkpoints(out: str | PathLike[str]) -> None:
    """Free the space of a finished training; its best weights are saved apart."""
    for folder in Path(out).glob("checkpoint-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _check(classifier: Transformer, objective: Objective, examples: Sequence[Example], dev: Sequence[Example]) -> None:
    for part in parts_of(objective):
        classifier.require(*part.needs, asker=OBJECTIVES.name_of(part))
    for split, chosen in (("training", examples), ("dev", dev)):
        if not chosen:
            raise InputError(f"the {split} split is empty", remedy="Choose a larger one.")
        classifier.gold(chosen)  # an unknown label is named now, not after an epoch
    if not classifier.is_regression:
        check_classes(examples)


def _metric(trainee: Trainee, schedule: Schedule, dev: Sequence[Example]) -> str:
    """The name of the figure that the best checkpoint is kept by, which classifier or objective must have."""
    names = trainee.figures(dev[:_A_FEW])
    wanted = schedule.metric or main_figure(trainee.classifier)
    if wanted not in names:
        raise unknown("dev figure", wanted, names)
    return wanted


def check_classes(examples: Sequence[Example]) -> None:
    """Refuse data from which nothing can be learned, as all of it has one label."""
    if len({example.label for example in examples}) < 2:
        raise InputError(
            f"all training examples have the label {examples[0].label!r}",
            field="label",
            remedy="Two classes are needed.",
        )


def _attention_as_needed(
    classifier: Transformer, objective: Objective, examples: Sequence[Example]
) -> AbstractContextManager[None]:
    if not objective.needs & ATTENTIONS:
        return nullcontext()
    return no_attention_dropout(classifier, classifier.encode(list(examples[:2])))


def _arguments(classifier: Transformer, schedule: Schedule, metric: str, count: int, folder: Path) -> TrainingArguments:
    steps = math.ceil(count / (schedule.batch_size * schedule.accumulate))
    check_every = max(1, math.ceil(steps / schedule.checks))
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=schedule.epochs,
        per_device_train_batch_size=schedule.batch_size,
        gradient_accumulation_steps=schedule.accumulate,
        learning_rate=schedule.rate or (1e-3 if _is_small(classifier) else 5e-5),
        warmup_steps=schedule.warmup,
        weight_decay=schedule.weight_decay,
        max_grad_norm=schedule.clip,
        eval_strategy="steps",
        eval_steps=check_every,
        save_strategy="steps",
        save_steps=check_every,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{metric}",
        greater_is_better=not metric.endswith("loss"),
        logging_steps=max(1, check_every // 5),
        bf16=schedule.bf16,
        seed=schedule.seed,
        report_to=schedule.report_to,
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=False,
    )


def _is_small(classifier: Transformer) -> bool:
    return int(classifier.model.num_parameters()) < 1_000_000


def _early_stopping(schedule: Schedule) -> list[TrainerCallback]:
    return [EarlyStoppingCallback(schedule.patience)] if schedule.patience else []


def _best_line(trainer: Any, history: Sequence[dict[str, float]]) -> dict[str, float]:
    """The dev figures logged at the best checkpoint."""
    key = trainer.args.metric_for_best_model
    best = next(line for line in history if line.get(key) == trainer.state.best_metric)
    return {name.removeprefix("eval_"): value for name, value in best.items() if name.startswith("eval_")}


def _last_checkpoint(folder: Path) -> str | None:
    """The newest checkpoint that is whole; its state is written last, so one torn by a kill has none."""
    whole = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json") if _is_json(path)]
    return str(max(whole, key=lambda path: _step(str(path)))) if whole else None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


def _step(checkpoint: str | None) -> int:
    return int(checkpoint.rsplit("-", 1)[1]) if checkpoint else 0
