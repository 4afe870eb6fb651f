"""How long and how fast to train: a classifier, or a student of explainers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar, Literal

from veridical.core.component import Component, Count, Positive, Presets, Probability, Seed, Weight, option
from veridical.core.errors import UsageError

_PACKAGES = {"tensorboard": ("tensorboard", "tensorboardX"), "mlflow": ("mlflow",), "wandb": ("wandb",)}


@dataclass(frozen=True)
class Schedule(Component):
    """Settings of the fit loop; the defaults suit the embedded model on some thousand short texts."""

    epochs: Positive = option(3.0, "Passes over the data.")
    batch_size: Count = option(32, "Examples per step.")
    rate: Positive | None = option(
        None, "Learning rate of the encoder; by default 5e-5, or 1e-3 for a model of less than a million weights."
    )
    head_rate: Positive | None = option(
        None,
        "Learning rate of the head, which starts at random, and of a pooler that was never trained; by default 5e-4, "
        "or 1e-3 for such a small model.",
    )
    warmup: Weight = option(0.1, "Steps in which the rates rise from 0; less than 1 is a share of all steps.")
    weight_decay: Weight = option(0.01, "How fast weights shrink to 0; biases and norms do not.")
    clip: Weight = option(1.0, "The largest length of a gradient; longer ones are cut to it, and 0 cuts none.")
    checks: Count = option(2, "Looks at the dev split per epoch; each leaves a checkpoint.")
    metric: str | None = option(
        None,
        "The dev figure that the best checkpoint is kept by, and of equal ones the lowest loss: accuracy, macro_f1, "
        "micro_f1, pearson, loss, or one of the objective's own; by default accuracy, micro_f1 for several labels, or "
        "pearson for regression.",
    )
    patience: Count | None = option(None, "Stop after so many looks at the dev split without improvement.")
    accumulate: Count = option(1, "Batches whose gradients are added up before a step: larger steps, no more memory.")
    bf16: bool = option(False, "Train in bfloat16.")
    report_to: Literal["none", "tensorboard", "mlflow", "wandb"] = option(
        "none",
        "Where losses and figures are logged while training; its package must be installed. A run stays the same run.",
    )
    seed: Seed = option(0, "Seed of the head, the order of examples and dropout.")

    def require_logger(self) -> None:
        """Refuse a schedule that reports to a package which is not installed."""
        packages = _PACKAGES.get(self.report_to, ())
        if packages and not any(find_spec(package) for package in packages):
            raise UsageError(
                f"training cannot report to {self.report_to}: the package is not installed",
                remedy=f"Run: pip install {packages[0]}.",
            )


_PUBLISHED = {
    "body": "words",
    "form": "ranking",
    "width": 512,
    "depth": 4,
    "heads": 4,
    "dropout": 0.0,
    "reduction": "sum",
    "optimiser": "sgd",
    "epochs": 50.0,
    "batch_size": 500,
    "step_words": 3000,
    "rate": 1e-4,
    "warmup": 0.0,
    "decay": "none",
    "clip": 0.0,
    "weight_decay": 0.0,
    "patience": None,
}


@dataclass(frozen=True)
class Distillation(Component):
    """How a student is built and taught; the defaults suit some thousand short texts."""

    body: Literal["auto", "side", "words"] = option(
        "auto",
        "What it reads: the model's hidden states (side), words of a vocabulary (words), or auto: side where a model "
        "shows its states.",
    )
    form: Literal["scores", "ranking", "labels"] = option(
        "scores", "What it learns: signed scores for every class, the order of their sizes, or levels."
    )
    width: Count | None = option(
        None,
        "How many numbers a state has; by default an eighth of the model's (side) or two thirds (words), or 256 beside "
        "a model that shows none.",
    )
    depth: Count | None = option(
        None,
        "How many layers it has; by default 1 (side), a third of the model's (words), or 2 if it shows none.",
    )
    heads: Count = option(4, "How many heads attend in each layer.")
    dropout: Probability = option(0.1, "The share of states that is dropped in training.")
    vocabulary: Count = option(20_000, "The most words that a student of words knows, the commonest ones.")
    reduction: Literal["mean", "sum", "ref_code"] = option(
        "mean", "How the terms of a text are reduced: mean, sum or ref_code."
    )
    tags: bool = option(
        False,
        "Let the label tokens at both ends learn, too: to come after every word of an order, and to be neutral among "
        "levels (words).",
    )
    positions: bool = option(False, "Tell it by sinusoids where words stand (words); published students do not know.")
    predicts: bool = option(
        False,
        "Let it learn the model's decisions, too, so that the model need not run: its folder is then also a model "
        "(words).",
    )
    by_sign: bool = option(False, "Let `ranking` learn the order of signed scores, and not of their sizes.")
    optimiser: Literal["adamw", "sgd"] = option("adamw", "What takes the steps; sgd is the published one, and slow.")
    epochs: Positive = option(30.0, "Passes over the lessons at most.")
    batch_size: Count = option(32, "Texts per step.")
    step_words: Count | None = option(
        None, "Words and label tokens per step, on average, where these are fewer texts than batch_size."
    )
    rate: Positive = option(1e-3, "Learning rate.")
    warmup: Weight = option(0.1, "Steps in which the rate rises from 0; less than 1 is a share of all steps.")
    decay: Literal["linear", "none"] = option(
        "linear", "Whether the rate falls to 0 until the last step, or stays as it is."
    )
    clip: Weight = option(1.0, "The largest length of a gradient; longer ones are cut to it, and 0 cuts none.")
    weight_decay: Weight = option(0.01, "How fast weights shrink to 0.")
    patience: Count | None = option(5, "Stop after so many looks at the dev lessons without improvement.")
    seed: Seed = option(0, "Seed of the first weights, the order of lessons and dropout.")
    presets: ClassVar[Presets] = {
        "paper": _PUBLISHED,
        "ref_code": {**_PUBLISHED, "reduction": "ref_code", "tags": True},
    }

    def schedule(self, words: float) -> Schedule:
        """How long and how fast it is taught, by texts of so many words on average."""
        label_tokens = 2
        texts = self.batch_size if self.step_words is None else int(self.step_words / (words + label_tokens))
        return Schedule(
            epochs=self.epochs,
            batch_size=max(1, min(self.batch_size, texts)),
            rate=self.rate,
            warmup=self.warmup,
            clip=self.clip,
            weight_decay=self.weight_decay,
            checks=1,
            metric="loss",
            patience=self.patience,
            seed=self.seed,
        )
