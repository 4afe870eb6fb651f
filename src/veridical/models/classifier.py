"""The interface of every classifier: encode examples, run rows, and the verbs that erasers are made of."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Unpack

import torch
from torch import Tensor

from veridical.core.errors import InputError, UnsupportedError
from veridical.core.folders import COMPONENT_FILE
from veridical.core.values import VALUE, Example, Label, is_number
from veridical.models.batch import Batch, Output, PassOptions, Rows

_AT_WORDS = "Give it where=word, or take the eraser `zero`: words have vectors in every model."

_SHOWN = 6
"""How many labels are printed."""

EXPLAINERS_FOLDER = "explainers"
"""The folder below a saved model that holds explainers which were trained with it."""


_BYTES_OF_A_WORD = 5
_SECONDS_OF_A_QUESTION = 0.5


class Ability(StrEnum):
    """What a model can give beside its outputs; a method that needs more than a model has is refused by name."""

    GRADIENTS = "gradients"
    EMBEDDINGS = "embeddings"
    EMBEDDING_OUTPUT = "embedding-output"  # what enters its first layer can be changed
    HIDDEN = "hidden"  # the states of all layers
    POOLED = "pooled"  # the vector that the last layer of its head reads
    ATTENTIONS = "attentions"
    CLS_ATTENTIONS = "cls-attentions"  # what the first token, or all that the head reads, attends to
    ATTENTION_GRADIENTS = "attention-gradients"  # the output can be differentiated by attentions
    BERT_LAYERS = "bert-layers"  # a stack of layers of BERT's kind, for rules made for them
    # The ways of taking words away that it has the means for:
    DELETE = "delete"
    MASK = "mask"
    PAD = "pad"
    PAD_ATTN = "pad_attn"
    ZERO = "zero"


class Task(StrEnum):
    """What a model decides: one class of several, any number of labels, or a number."""

    CLASSES = "classes"
    LABELS = "labels"
    NUMBER = "number"


@dataclass(frozen=True)
class Origin:
    """Where a classifier was loaded from, and with which settings: what it takes to load it again."""

    source: str
    settings: Mapping[str, Any]


class Classifier(ABC):
    """A model that can be asked about whole examples and about parts of them.

    `labels` are the class names in output order, empty for regression. A model that `is_multi_label` gives each label a
    probability of its own, and chooses all that reach the `threshold`. One that decides for one class divides its
    outputs by the `temperature`, which makes it less sure and changes no decision. `provides` says what the model can
    give beside its outputs. `trained_on` names the data a model was trained on, and `origin` says where it was loaded
    from, where that is known. `learned` are the folders of explainers that were trained with it, by name. `has_biases`
    says whether its layers add something of their own to what they read, so that zero embeddings are an input like
    others. `norms_first` says whether its layers begin with a norm, so that the states between them are as large as
    they happen to be.
    """

    kind: str
    labels: tuple[str, ...]
    is_multi_label: bool = False
    threshold: float = 0.5
    temperature: float = 1.0
    provides: frozenset[Ability] = frozenset()
    has_biases: bool = True
    norms_first: bool = False
    trained_on: str | None = None
    origin: Origin | None = None
    learned: Mapping[str, Path] = MappingProxyType({})

    @classmethod
    def load(cls, source: Any, **settings: Any) -> Classifier:
        """Bring a classifier: a folder, a hub id, a Hugging Face model object, or any callable on texts.

        >>> Classifier.load("runs/base")
        >>> Classifier.load(model, tokenizer=tokenizer, units="token")
        >>> Classifier.load(pipeline.predict_proba, labels=["ham", "spam"])

        A model object that is handed over is used as it is, not copied, and two of its settings change for good: its
        attention becomes `eager`, as only that shows attention weights and has second derivatives; and a decoder is
        told the padding token of its tokenizer. To keep your own as it was, hand over `copy.deepcopy(model)`.
        """
        from veridical.models.loader import load

        return load(source, **settings)

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> Batch:
        """Turn examples into units and model inputs; a bad example raises an `InputError` that names it."""

    @abstractmethod
    def run(self, rows: Rows, **options: Unpack[PassOptions]) -> Output:
        """The model's output for each row, with gradients if they are enabled."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What an explanation's spec says of this model: kind, units, fingerprint of the weights."""

    def with_weights(self, weights: Mapping[str, Tensor]) -> Classifier:
        """The same classifier with other weights, by their names in the model; those not named stay as they are.

        Everything that can be asked of a classifier can be asked of this one, and gradients of any order flow into the
        given weights. The model itself is not changed.

        >>> loss(classifier.with_weights({name: w - rate * g for (name, w), g in zip(weights, gradients)}))
        """
        raise self.cannot("be run with other weights: it is code")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.family}: {self._gives})"

    @property
    def _gives(self) -> str:
        """What it decides, for people."""
        if self.is_regression:
            return "gives a number"
        names = ", ".join(self.labels[:_SHOWN]) + (
            f" and {len(self.labels) - _SHOWN} more" * (len(self.labels) > _SHOWN)
        )
        return f"any of {names}" if self.is_multi_label else f"one of {names}"

    @property
    def is_regression(self) -> bool:
        return not self.labels

    @property
    def task(self) -> Task:
        """What it decides."""
        if self.is_regression:
            return Task.NUMBER
        return Task.LABELS if self.is_multi_label else Task.CLASSES

    def probabilities(self, logits: Tensor) -> Tensor:
        """The probability of each label, [N, C]: they add up to 1, or each stands for itself where several may hold."""
        if self.is_regression:
            raise ValueError("a regression model has no probabilities")
        return logits.sigmoid() if self.is_multi_label else logits.softmax(-1)

    def chosen(self, logits: Tensor) -> Tensor:
        """The labels that are chosen, [N, C] booleans: the highest, or all that reach the threshold."""
        if self.is_multi_label:
            return logits.sigmoid() >= self.threshold
        return torch.zeros_like(logits, dtype=torch.bool).scatter(1, logits.argmax(-1, keepdim=True), True)

    @property
    def family(self) -> str:
        """What sort of model this is, for messages."""
        return self.kind

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def forward(self, batch: Batch, **options: Unpack[PassOptions]) -> Output:
        """The output for each example of a batch at once, for training; `Case` asks in bounded portions instead."""
        output = self.run(batch.rows, **options)
        logits = average_windows(output.logits, batch.rows.owner, len(batch))
        return replace(output, logits=logits)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Dropout off, and everything as it was afterwards."""
        yield

    @contextmanager
    def fused(self) -> Iterator[None]:
        """As fast as it goes when nothing but outputs is asked for: neither attentions nor gradients of gradients."""
        yield

    # Estimates, by which jobs are cut into portions: they need not be right, but must be the same on every machine.

    def positions(self, example: Example) -> int:
        """About how many words, word pieces or patches an example has."""
        texts = (value for value in example.inputs.values() if isinstance(value, str))
        return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // _BYTES_OF_A_WORD + 1

    def seconds(self, positions: int) -> float:
        """About how long one core of a processor takes for an input of so many positions.

        Nobody knows what code of others takes. It may ask a slow service, so little should be asked before it is kept.
        """
        return _SECONDS_OF_A_QUESTION

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the classifier to a folder that `load` reads."""
        raise self.cannot("be saved: it is code, not weights")

    def target_name(self, target: int) -> str:
        """The label of an output index."""
        return self.labels[target] if self.labels else VALUE

    def target_index(self, label: Label | None, example: str | None = None) -> int:
        """The output index of a label, which must be one of the model's."""
        if self.is_regression:
            return 0
        if label not in self.labels:
            known = ", ".join(self.labels)
            raise InputError(
                f"{label!r} is not a label of this model", example=example, field="label", remedy=f"It knows: {known}."
            )
        return self.labels.index(str(label))

    def gold(self, examples: Sequence[Example]) -> Tensor:
        """The gold labels of examples: the model's output indices [B], the numbers a regression should give [B], or
        for a multi-label model which of its labels hold, [B, C] of 0 and 1.
        """
        if self.is_regression:
            return torch.tensor([_number(example) for example in examples])
        if self.is_multi_label:
            return torch.stack([self._held(example) for example in examples])
        return torch.tensor([self.target_index(example.label, example.id) for example in examples])

    def _held(self, example: Example) -> Tensor:
        """Which labels an example has, [C] of 0 and 1."""
        if not isinstance(example.label, tuple):
            raise InputError(
                f"the label is {example.label!r}, and not a list of labels",
                example=example.id,
                field="label",
                remedy="This model gives any number of labels: give a list of them, which may be empty.",
            )
        held = torch.zeros(len(self.labels))
        held[[self.target_index(label, example.id) for label in example.label]] = 1.0
        return held

    def require(self, *abilities: Ability, asker: str) -> None:
        """Refuse, by name, what this model cannot give."""
        if missing := [ability for ability in abilities if ability not in self.provides]:
            able = ", ".join(sorted(self.provides)) or "outputs only"
            others = f"This model gives: {able}. `veridical list explainers` shows what each method needs."
            raise UnsupportedError(
                f"{asker} needs {' and '.join(missing)}, which {self.family} models do not give",
                remedy=_AT_WORDS if missing == [Ability.EMBEDDING_OUTPUT] else others,
            )

    def cannot(self, what: str) -> UnsupportedError:
        """The error for a verb this kind of model does not have."""
        return UnsupportedError(f"a {self.kind} model cannot {what}")

    # The verbs of erasure: `gone` [R, L] marks the positions to erase.

    def drop(self, rows: Rows, gone: Tensor) -> Rows:
        """Take positions out; what follows moves up."""
        raise self.cannot("delete parts of its input")

    def substitute(self, rows: Rows, gone: Tensor, token: str) -> Rows:
        """Put the `mask` or `pad` token at positions."""
        raise self.cannot(f"put {token} tokens into its input")

    def hide(self, rows: Rows, weight: Tensor) -> Rows:
        """Let nothing attend to positions of weight 0, and less to those of a weight below 1."""
        raise self.cannot("hide parts of its input from attention")

    def embed(self, rows: Rows) -> Tensor:
        """The input embedding at each position, [R, L, e]."""
        raise self.cannot("show its embeddings")

    def no_shift(self, rows: Rows) -> Tensor:
        """A shift of 0 of what enters the first layer, [R, L, d]: what others are made like, and gradients taken by."""
        raise self.cannot("shift what enters its first layer")


def learned_with(source: str | PathLike[str]) -> dict[str, Path]:
    """The folders of explainers that were trained with the model of a folder, by name."""
    found = sorted(Path(source).glob(f"{EXPLAINERS_FOLDER}/*/{COMPONENT_FILE}"))
    return {path.parent.name: path.parent for path in found}


def _number(example: Example) -> float:
    if is_number(example.label) and math.isfinite(example.label):
        return float(example.label)
    raise InputError(f"{example.label!r} is not a finite number", example=example.id, field="label")


def average_windows(logits: Tensor, owner: Tensor, count: int) -> Tensor:
    """Mean over the rows of each example: a document's windows vote with equal weight."""
    if len(owner) == count:
        return logits  # one row each, and rows come in the order of their examples
    owner = owner.to(logits.device)
    total = logits.new_zeros(count, logits.shape[-1]).index_add(0, owner, logits)
    windows = torch.bincount(owner, minlength=count).clamp(min=1)
    return total / windows[:, None].to(total.dtype)


def fingerprint_of(weights: Mapping[str, Tensor], parts: Mapping[str, str] | None = None) -> str:
    """A hash of some weights, and of the fingerprints of `parts` that belong to them."""
    digest = hashlib.sha256()
    for name, values in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(values.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    for name, fingerprint in sorted((parts or {}).items()):
        digest.update(f"{name}={fingerprint}".encode())
    return digest.hexdigest()[:16]
