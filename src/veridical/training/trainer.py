"""The Hugging Face Trainer, taught to train an `Objective` on cases: batches of like lengths, attention undropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Sampler
from transformers import Trainer, TrainerCallback

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.progress import Watch
from veridical.core.values import IMAGE, Example
from veridical.masking import Case
from veridical.models import Batch
from veridical.models.transformer import Transformer
from veridical.objectives.base import Objective, figures_of, forward, modules_in, parts_of
from veridical.training.evaluation import evaluate

_NAMES = ("dropout", "attention_dropout", "dropout_prob", "attn_dropout")


@contextmanager
def no_attention_dropout(classifier: Transformer, sample: Batch) -> Iterator[None]:
    """While inside, the model drops out no attention weight; a model where that fails on the sample is refused."""
    before = [(owner, name, getattr(owner, name)) for owner, name in _rates(classifier.model)]
    try:
        for owner, name, _ in before:
            setattr(owner, name, 0.0)
        _check(classifier, sample)
        yield
    finally:
        for owner, name, rate in before:
            setattr(owner, name, rate)


def _rates(model: nn.Module) -> Iterator[tuple[nn.Module, str]]:
    """Where the rates are kept: in a dropout module of the innermost attention modules, or there as a number."""
    attentions = [module for module in model.modules() if _is_attention(module)]
    for module in attentions:
        if any(_is_attention(child) for child in module.modules() if child is not module):
            continue
        for name in _NAMES:
            found = getattr(module, name, None)
            if isinstance(found, nn.Dropout):
                yield found, "p"
            elif isinstance(found, float):
                yield module, name


def _is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__


def _check(classifier: Transformer, sample: Batch) -> None:
    classifier.model.train()
    with torch.no_grad(), torch.random.fork_rng():
        output = classifier.run(sample.rows, attentions=True)
    assert output.attentions is not None
    total = output.from_first_token(output.attentions[-1]).sum(-1)  # [R, H]
    if not torch.allclose(total, torch.ones_like(total), atol=1e-3):
        raise UnsupportedError(
            f"the attention dropout of {classifier.family} models cannot be switched off, so no loss can look at "
            "their attention",
            remedy="Set it to 0 in the model's configuration.",
        )


class WatchCallback(TrainerCallback):
    """Tells a watch of each step with its loss, and of the figures of each look at the dev split.

    A watch that was cancelled raises here, between two steps: the checkpoints stay, and the same call goes on from the
    last one.
    """

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.note = ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._tell(state)

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
        output = forward(self.classifier, batch, self.objective.needs)
        terms = self.objective(Case.of_output(self.classifier, batch, output))
        return {"loss": torch.stack(list(terms.values())).sum(), "terms": terms}

    def figures(self, examples: Sequence[Example]) -> dict[str, float]:
        """The figures of the classifier and of the objective on some examples."""
        self.parts.eval()  # the trainer switches them back before its next step
        with torch.no_grad():
            own = figures_of(self.objective, self.classifier, examples)
        found = evaluate(self.classifier, examples)
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


class CaseTrainer(Trainer):
    """Feeds batches of examples, logs each term of the loss, and judges by our own evaluation of the dev split."""

    def __init__(
        self, trainee: Trainee, examples: Sequence[Example], dev: Sequence[Example], head_rate: float, **rest: Any
    ):
        super().__init__(
            model=trainee,
            train_dataset=list(examples),
            eval_dataset=list(dev),
            data_collator=lambda chosen: {"batch": trainee.classifier.encode(chosen)},
            **rest,
        )
        self.control: Any
        self.optimizer: Any
        self.trainee = trainee
        self.head_rate = head_rate
        self._terms: dict[str, list[Tensor]] = {}

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **_: Any) -> Any:
        outputs = model(**inputs)
        for name, value in outputs["terms"].items():
            self._terms.setdefault(name, []).append(value.detach())
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        if "loss" in logs:
            logs = {**logs, **{name: float(torch.stack(values).mean()) for name, values in self._terms.items()}}
            self._terms.clear()
        super().log(logs, *args, **kwargs)

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        found = self.trainee.figures(self.eval_dataset)
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in found.items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            decaying = set(self.get_decay_parameter_names(self.trainee))  # not biases and norms
            groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
            for name, values in self.trainee.named_parameters():
                groups.setdefault((self._rate(name), name in decaying), []).append(values)
            self.optimizer = torch.optim.AdamW(
                {"params": chosen, "lr": rate, "weight_decay": self.args.weight_decay if decays else 0.0}
                for (rate, decays), chosen in groups.items()
            )
        optimizer: torch.optim.Optimizer = self.optimizer
        return optimizer

    def _rate(self, name: str) -> float:
        """The learning rate of a parameter: the encoder's, the objective's for its own, or the head's."""
        place, index, *_ = name.split(".")
        if name.startswith(f"model.{self.trainee.model.base_model_prefix}."):
            return float(self.args.learning_rate)
        return (self.trainee.rates[int(index)] if place == "parts" else None) or self.head_rate

    def _get_train_sampler(self, *_: Any) -> ByLength:
        lengths = [_length(example) for example in self.train_dataset]
        return ByLength(lengths, self.args.per_device_train_batch_size, self.args.seed)


def _length(example: Example) -> int:
    return 1 if IMAGE in example.inputs else sum(len(str(value)) for value in example.inputs.values())
