"""The Hugging Face Trainer, taught to train an `Objective` on cases: batches of like lengths, terms by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.data import Sampler
from transformers import (
    EarlyStoppingCallback,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from veridical.core.errors import ModelError, StorageError, UsageError
from veridical.core.progress import Watch
from veridical.core.values import IMAGE, Example
from veridical.masking import Case, Engine
from veridical.models import Batch
from veridical.models.transformer import Transformer
from veridical.objectives.base import Objective, forward, frozen_by, modules_in, parts_of, tell_epoch
from veridical.training.checkpoints import Found, written
from veridical.training.evaluation import compared, own_figures
from veridical.training.notes import SLOWER, steps_per_epoch
from veridical.training.processes import gathered, predict_together
from veridical.training.schedule import Schedule


class WatchCallback(TrainerCallback):
    """Tells a watch of each step with its loss, and of the figures of each look at the dev split.

    `notes` are what it has to say before the first step.

    A watch that was cancelled raises here, between two steps: the checkpoints stay, and the same call goes on from the
    last one.
    """

    def __init__(self, watch: Watch, notes: Sequence[str] = ()) -> None:
        self.watch = watch
        self.notes = notes
        self.note = ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._tell(state)
        for note in self.notes:
            self.watch.note(note, is_result=True)

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.watch.check()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._tell(state)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, float] | None = None, **_: Any) -> None:
        if logs and "loss" in logs:
            self.note = f"loss {logs['loss']:.3f}"

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Mapping[str, float], **_: Any) -> None:
        figures = "  ".join(f"{name.removeprefix('eval_')} {value:.4f}" for name, value in metrics.items())
        self.watch.note(f"dev: {figures}", is_result=True)

    def _tell(self, state: Any) -> None:
        self.watch.tell("training", state.global_step, state.max_steps, self.note)


class EpochCallback(TrainerCallback):
    """Tells an objective which epoch begins; what it anneals is then the same after an interruption as without one."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # Resumed in the middle of an epoch, it is a fraction; at the start of one, rounding may have left a little.
        tell_epoch(self.objective, int(state.epoch + 1e-6), args.num_train_epochs)


_BATCHES_TOGETHER = 50


class ByLength(Sampler[int]):
    """Shuffles each epoch, then sorts within stretches of some batches, so that batches carry little padding.

    The order depends on seed and epoch only, so a resumed training sees what the interrupted one would have seen.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int) -> None:
        self.lengths = torch.tensor(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 100_003 + self.epoch)
        shuffled = torch.randperm(len(self.lengths), generator=generator)
        stretches = shuffled.split(_BATCHES_TOGETHER * self.batch_size)
        ordered = torch.cat([stretch[self.lengths[stretch].argsort(stable=True)] for stretch in stretches])
        batches = list(ordered.split(self.batch_size))
        # Only full batches move: a short one in the middle would shift the cuts between all that follow.
        last = [batches.pop()] if len(batches[-1]) < self.batch_size else []
        order = torch.randperm(len(batches), generator=generator)
        for batch in [*(batches[index] for index in order.tolist()), *last]:
            yield from batch.tolist()


class Trainee(nn.Module):
    """What is trained: the model and, where it has any, the objective's own weights, in `parts`.

    Its forward makes the whole loss, so that wrappers for several devices see one ordinary module.
    """

    def __init__(self, classifier: Transformer, objective: Objective) -> None:
        super().__init__()
        self.model = classifier.model
        self.classifier = classifier
        # In a tuple: torch would register an objective that is a module once more, under another name.
        self._objective = (objective,)
        self.parts = nn.ModuleList()
        self.rates: list[float | None] = []
        for part in parts_of(objective):
            self._register(part)

    @property
    def objective(self) -> Objective:
        """The objective, ready to be trained."""
        return self._objective[0]

    def forward(self, batch: Batch) -> dict[str, Any]:
        output = forward(self.classifier, batch, self.objective)
        terms = self.objective(Case.of_output(self.classifier, batch, output))
        return {"loss": torch.stack(list(terms.values())).sum(), "terms": terms}

    @contextmanager
    def holding(self) -> Iterator[None]:
        """While inside, the weights that the objective leaves as they are take no gradients, and none is computed."""
        names = frozen_by(self.objective)
        held = [weight for name, weight in self.model.named_parameters() if name in names and weight.requires_grad]
        for weight in held:
            weight.requires_grad_(False)
        try:
            yield
        finally:
            for weight in held:
                weight.requires_grad_(True)

    def figures(self, examples: Sequence[Example]) -> dict[str, float]:
        """The figures of the classifier and of the objective on some examples, the same in all processes."""
        self.parts.eval()  # the trainer switches them back before its next step
        own = own_figures(self.classifier, self.objective, examples)
        found = compared(self.classifier, predict_together(self.classifier, examples, Engine()), examples)
        if shared := sorted(found.keys() & own.keys()):
            name = type(self.objective).__name__
            raise UsageError(f"{name} has a dev figure {shared[0]!r}, as the classifier has", remedy="Rename it.")
        return {**found, **own}

    def _register(self, objective: Objective) -> None:
        """Take in the modules of an objective that are not the model's own, each once, with their learning rate."""
        for module in modules_in(objective):
            if not any(module is known for known in self.modules()):
                self.parts.append(module)
                self.rates.append(getattr(objective, "rate", None))


class Judged(Protocol):
    """A module that can be trained: its forward gives the `loss` and its `terms`, and it has figures on data."""

    def figures(self, examples: Any) -> dict[str, float]:
        """The figures on some data, among them the `loss`."""
        ...


class TermTrainer(Trainer):
    """Feeds batches of like lengths, logs each term of the loss, and keeps the best checkpoint by our own figures."""

    trainee: Judged

    def __init__(self, trainee: nn.Module, lengths: Sequence[int], **rest: Any) -> None:
        super().__init__(model=trainee, **rest)
        self.remove_callback(PrinterCallback)
        self.control: Any
        self.optimizer: Any
        self.trainee = trainee  # type: ignore[assignment]
        self.lengths = lengths
        self._terms: dict[str, list[Tensor]] = {}

    def go(self, folder: Path, last: Found) -> None:
        """Train, from the last checkpoint on if there is one; afterwards the weights are the best ones."""
        self.train(resume_from_checkpoint=last.path and str(last.path))
        self.restore_best(folder)

    def best_figures(self) -> dict[str, float]:
        """The dev figures of the best checkpoint."""
        best = self.state.best_metric
        if best is None or not math.isfinite(best):
            raise ModelError("training diverged: the dev loss is not a number", remedy=SLOWER)
        return {name.removeprefix("eval_"): value for name, value in self.best_look().items() if "eval_" in name}

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
        outputs = model(**inputs)
        for name, value in outputs["terms"].items():
            self._terms.setdefault(name, []).append(value.detach())
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        if "loss" in logs:  # of a step: all processes are here, and the loss is their mean already
            logs = {**logs, **self._mean_terms()}
        super().log(logs, *args, **kwargs)

    def _mean_terms(self) -> dict[str, float]:
        """The mean of each term since it was last logged, over steps and processes."""
        own = {name: (float(torch.stack(values).sum()), len(values)) for name, values in self._terms.items()}
        self._terms.clear()
        everywhere = gathered(own)
        totals = {
            name: [sum(column) for column in zip(*(each[name] for each in everywhere if name in each), strict=True)]
            for name in dict.fromkeys(name for each in everywhere for name in each)
        }
        return {name: total / count for name, (total, count) in totals.items()}

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        found = self.trainee.figures(self.eval_dataset)
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in found.items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        if not math.isfinite(found["loss"]):
            self.control.should_training_stop = True  # weights that are no numbers stay so
        return metrics

    def _determine_best_metric(self, metrics: dict[str, float], trial: Any) -> bool:
        """Whether a look at the dev split is the best so far; of equal figures it is the one with the lower loss."""
        if not math.isfinite(metrics["eval_loss"]):
            return False  # a model that says nothing has an accuracy, too: that of the first class
        if super()._determine_best_metric(metrics, trial):
            return True
        metric = str(self.args.metric_for_best_model)
        # The loss that goes with the figure: `masked_loss` with `masked_accuracy`, or else that of the classifier.
        beside = f"{metric.rpartition('_')[0]}_loss"
        loss = beside if beside in metrics else "eval_loss"
        if not (metrics[metric] == self.state.best_metric and metrics[loss] < self.best_look()[loss]):
            return False
        self.state.best_global_step = self.state.global_step
        return True

    def best_look(self) -> dict[str, float]:
        """What was logged at the best checkpoint so far; the log is part of a checkpoint, so resuming loses nothing."""
        looks = (line for line in self.state.log_history if "eval_loss" in line)
        return next(line for line in looks if line["step"] == self.state.best_global_step)

    def restore_best(self, folder: Path) -> None:
        """Take the best weights also in a folder that was moved or copied: the library looks where it was before."""
        best = folder / f"checkpoint-{self.state.best_global_step}"
        if not self.state.best_global_step or Path(self.state.best_model_checkpoint or "") == best:
            return
        if not best.is_dir():
            raise StorageError(f"the best checkpoint, {best}, is gone", remedy="Train anew, with another --out.")
        self.state.best_model_checkpoint = str(best)
        self._load_best_model()

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        with written(Path(str(self.args.output_dir)) / f"checkpoint-{self.state.global_step}"):
            super()._save_checkpoint(model, trial)

    def _get_train_sampler(self, *_: Any) -> ByLength:
        return ByLength(self.lengths, self.args.per_device_train_batch_size, self.args.seed)


class CaseTrainer(TermTrainer):
    """Trains a classifier by an objective, on batches of examples."""

    trainee: Trainee

    def __init__(
        self, trainee: Trainee, examples: Sequence[Example], dev: Sequence[Example], head_rate: float, **rest: Any
    ):
        super().__init__(
            trainee,
            [_length(example) for example in examples],
            train_dataset=list(examples),
            eval_dataset=list(dev),
            data_collator=lambda chosen: {"batch": trainee.classifier.encode(chosen)},
            **rest,
        )
        self.head_rate = head_rate

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            decaying = set(self.get_decay_parameter_names(self.trainee))  # not biases and norms
            groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
            for name, values in self.trainee.named_parameters():
                if not values.requires_grad:
                    continue  # held: the decay would move it, too
                groups.setdefault((self._rate(name), name in decaying), []).append(values)
            self.optimizer = torch.optim.AdamW(
                {"params": chosen, "lr": rate, "weight_decay": self.args.weight_decay if decays else 0.0}
                for (rate, decays), chosen in groups.items()
            )
        optimizer: torch.optim.Optimizer = self.optimizer
        return optimizer

    def _rate(self, name: str) -> float:
        """The learning rate of a parameter: the encoder's, the objective's for its own, or the head's.

        What of the encoder is as untrained as the head learns with it. A model among the objective's own weights learns
        as an encoder does.
        """
        place, index, *_ = name.split(".")
        if name.removeprefix("model.") in self.trainee.classifier.untrained:
            return self.head_rate
        if place == "parts" and isinstance(self.trainee.parts[int(index)], PreTrainedModel):
            return float(self.args.learning_rate)
        if name.startswith(f"model.{self.trainee.model.base_model_prefix}."):
            return float(self.args.learning_rate)
        return (self.trainee.rates[int(index)] if place == "parts" else None) or self.head_rate


def arguments(
    schedule: Schedule, metric: str, count: int, folder: Path, rate: float, decays: bool = True
) -> TrainingArguments:
    """What the library's trainer is told, for so many examples, a dev figure to judge by, and a learning rate.

    The rate falls to 0 until the last step, unless it never `decays`.
    """
    check_every = max(1, math.ceil(steps_per_epoch(schedule, count) / schedule.checks))
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=schedule.epochs,
        per_device_train_batch_size=schedule.batch_size,
        gradient_accumulation_steps=schedule.accumulate,
        learning_rate=rate,
        lr_scheduler_type="linear" if decays else "constant_with_warmup",
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


def early_stopping(schedule: Schedule) -> list[TrainerCallback]:
    """Stops a training that does not get better, if the schedule asks for it."""
    return [EarlyStoppingCallback(schedule.patience)] if schedule.patience else []


def _length(example: Example) -> int:
    return 1 if IMAGE in example.inputs else sum(len(str(value)) for value in example.inputs.values())
