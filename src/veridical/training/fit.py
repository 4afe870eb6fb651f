"""Train a classifier: checkpoints, the best one kept, going on after an interruption, and what an objective leaves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from transformers import TrainerCallback
from transformers.trainer_utils import set_seed

from veridical.core.component import unknown
from veridical.core.errors import InputError, UsageError
from veridical.core.progress import Watch
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS
from veridical.models.architecture import quietly
from veridical.models.classifier import EXPLAINERS_FOLDER, learned_with
from veridical.models.transformer import Transformer
from veridical.models.undropped_attention import attention_before_dropout
from veridical.models.weights import Learned
from veridical.objectives import OBJECTIVES, Objective
from veridical.objectives.base import ATTENTIONS, best_by, explainers_of, notes_of, parts_of, prepare
from veridical.training.checkpoints import Found, last_checkpoint
from veridical.training.evaluation import main_figure
from veridical.training.notes import at_chance, diverged, few_steps
from veridical.training.processes import leave_at_exit
from veridical.training.schedule import Schedule
from veridical.training.trainer import (
    CaseTrainer,
    EpochCallback,
    Trainee,
    WatchCallback,
    arguments,
    early_stopping,
)


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
    `notes` are sentences that somebody should know beside the figures.
    """

    dev: dict[str, float]
    history: tuple[dict[str, float], ...]
    resumed_from: int
    objective: Objective
    notes: tuple[str, ...] = ()


def fit(
    classifier: Transformer,
    objective: Objective,
    examples: Sequence[Example],
    dev: Sequence[Example],
    out: str | PathLike[str],
    schedule: Schedule | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    watch: Watch | None = None,
) -> Fitted:
    """Train in place; afterwards classifier and objective have the weights of the best checkpoint by the dev metric.

    Of equally good checkpoints it is the one with the lowest dev loss. Checkpoints go to `out`/checkpoint-STEP; if
    there are some, training goes on from the last whole one. The seed governs the order of examples and dropout; the
    head's first weights come with the classifier.
    """
    schedule, watch = schedule or Schedule(), watch or Watch()
    leave_at_exit()
    _check(classifier, objective, examples, dev)
    folder = Path(out)
    objective = prepare(objective, classifier, examples)
    check_explainers(objective)
    trainee = Trainee(classifier, objective)
    metric = _metric(trainee, schedule, dev)
    last = last_checkpoint(folder)
    notes = [*_notes(classifier, schedule, len(examples), last), *notes_of(objective)]
    set_seed(schedule.seed)
    trainer = CaseTrainer(
        trainee,
        examples,
        dev,
        schedule.head_rate or (1e-3 if _is_small(classifier) else 5e-4),
        args=arguments(
            schedule, metric, len(examples), folder, schedule.rate or (1e-3 if _is_small(classifier) else 5e-5)
        ),
        callbacks=[*early_stopping(schedule), EpochCallback(objective), WatchCallback(watch, notes), *callbacks],
    )
    with quietly(), trainee.holding(), _attention_as_needed(classifier, objective, examples):
        trainer.go(folder, last)
    trainee.parts.eval()
    figures, history = trainer.best_figures(), tuple(dict(line) for line in trainer.state.log_history)
    after = [diverged(history)]
    if best_by(objective, classifier) is None:  # else it is not the head that the objective wants to be good
        after.append(at_chance(classifier, figures, dev, schedule, len(examples)))
    return Fitted(figures, history, last.step, objective, (*notes, *filter(None, after)))


def _notes(classifier: Transformer, schedule: Schedule, count: int, last: Found) -> list[str]:
    """What there is to know before a training starts."""
    passed_over = [f"{problem}; going on from {last.path}" for problem in last.damaged]
    few = few_steps(schedule, count) if classifier.has_new_head else None
    return [*passed_over, *([few] if few else [])]


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
    wanted = schedule.metric or best_by(trainee.objective, trainee.classifier) or main_figure(trainee.classifier)
    if wanted not in names:
        raise unknown("dev figure", wanted, names)
    return wanted


def check_classes(examples: Sequence[Example]) -> None:
    """Refuse data from which nothing can be learned, as all of it has one label."""
    if len({example.label for example in examples}) < 2:
        raise InputError(
            f"all training examples have the label {examples[0].label!r}",
            field="label",
            remedy="Two classes are needed. Where data is sorted by class, a subset such as "
            f"[{len(examples)}@0] takes examples at random.",
        )


def _attention_as_needed(
    classifier: Transformer, objective: Objective, examples: Sequence[Example]
) -> AbstractContextManager[None]:
    if not objective.needs & ATTENTIONS:
        return nullcontext()
    return attention_before_dropout(classifier, classifier.encode(list(examples[:2])))


def _is_small(classifier: Transformer) -> bool:
    return int(classifier.model.num_parameters()) < 1_000_000
