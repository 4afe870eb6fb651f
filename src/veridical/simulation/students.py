"""Students of a model: they learn its answers from few examples, with help from explanations or without."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.folders import TrainRecord, read_record
from veridical.core.values import Example
from veridical.masking import Engine
from veridical.models import Ability, Batch, Classifier, Output, Rows, Task
from veridical.models.architecture import quietly
from veridical.models.new import start
from veridical.models.pooling import Pooling, with_mixture
from veridical.models.transformer import Transformer
from veridical.models.undropped_attention import attention_before_dropout
from veridical.simulation.hypergradient import stepped
from veridical.simulation.lessons import divergence, similarity_loss, to_unit_shares
from veridical.simulation.mixtures import Mixture, head_logits, shares
from veridical.simulation.plans import AS_BEGUN, StudentPlan

Level = Literal["tokens", "units"]
"""What shares are given to: the tokens of the model's input, special ones too, or the words people read."""

_AWAY = 7_919
"""What a student's seed is shifted by: the model, trained by the same seed, must not have begun with its weights."""

_NOT_SHARED = {"temperature", "threshold"}
"""Settings of a model that say how sure it is, and not what it reads."""


class Student:
    """A classifier that learns, and its explainer: a mixture of its attention heads."""

    def __init__(self, classifier: Transformer, sample: Sequence[Example], plan: StudentPlan) -> None:
        classifier.require(Ability.ATTENTIONS, asker="a student that is taught by explanations")
        self.classifier = classifier
        self.plan = plan
        self.sample = classifier.encode(list(sample[:2]))
        with torch.no_grad(), classifier.evaluating():
            layers = self._layers(classifier.run(self.sample.rows, attentions=True))
        self.mixture = Mixture(sum(layer.shape[1] for layer in layers), plan.weighing)
        self._names = [name for name, _ in classifier.model.named_parameters()]

    @property
    def weights(self) -> list[Tensor]:
        """All that it learns: the weights of its model, and of its explainer."""
        return [*self.classifier.model.parameters(), self.mixture.phi]

    def loss(
        self,
        batch: Batch,
        said: Tensor,
        why: Tensor | None = None,
        level: Level = "tokens",
        weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """How far it is from what the model says, and from why [R, T] or [B, U], with its own weights or others."""
        classifier: Classifier = self.classifier
        phi: Tensor = self.mixture.phi
        if weights is not None:
            *own, phi = weights
            classifier = classifier.with_weights(dict(zip(self._names, own, strict=True)))
        output = classifier.forward(batch, attentions=why is not None)
        found = similarity_loss(classifier, output.logits, said)
        if why is None or not self.plan.beta:
            return found
        tokens = self.explained(output, batch.rows, phi)
        mine = tokens if level == "tokens" else to_unit_shares(tokens, batch)
        return found + self.plan.beta * divergence(why, mine)

    def explained(self, output: Output, rows: Rows, phi: Tensor) -> Tensor:
        """The shares of tokens by its own explainer, [R, T]."""
        return shares(self.mixture(head_logits(self._layers(output), rows), phi), rows)

    def step(self, loss: Tensor) -> None:
        """Learn from a loss."""
        weights = self.weights
        gradients = torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)
        self.take(self.update(weights, gradients))

    def update(self, weights: Sequence[Tensor], gradients: Sequence[Tensor]) -> list[Tensor]:
        """The weights after a step, as a pure function."""
        return stepped(weights, gradients, self.plan.rate, self.plan.decay, self.plan.clip)

    def take(self, weights: Sequence[Tensor]) -> None:
        """Have other weights."""
        with torch.no_grad():
            for own, new in zip(self.weights, weights, strict=True):
                own.copy_(new)

    def copied(self) -> list[Tensor]:
        """Its weights as they are now."""
        return [weight.detach().clone() for weight in self.weights]

    @contextmanager
    def learning(self) -> Iterator[None]:
        """While inside, it drops out, and shows its attention as it is before that."""
        with attention_before_dropout(self.classifier, self.sample):
            self.classifier.model.train()
            yield
        self.classifier.model.eval()

    def said(self, examples: Sequence[Example]) -> Tensor:
        """What it says of examples, as logits [N, C]."""
        return Engine().predict(self.classifier, examples)

    def _layers(self, output: Output) -> tuple[Tensor, ...]:
        assert output.attentions is not None
        return output.attentions[-1:] if self.plan.last_layer else output.attentions

    @cached_property
    def heads(self) -> int:
        """How many heads its explainer weighs."""
        return len(self.mixture.phi)


def new_student(teacher: Classifier, examples: Sequence[Example], plan: StudentPlan) -> Student:
    """A student of a model, before it has learned anything; a black box may have one, too."""
    if teacher.task is Task.LABELS:
        raise UnsupportedError(
            "students simulate models that give one class or a number, and this one gives any number of labels"
        )
    with torch.random.fork_rng():
        torch.manual_seed(plan.seed + _AWAY)
        begun = _begun(teacher, examples, plan)
    if begun.labels != teacher.labels:  # in any case its own order
        raise UsageError(f"the student decides between {begun.labels}, and the model between {teacher.labels}")
    return Student(begun, examples, plan)


def _begun(teacher: Classifier, examples: Sequence[Example], plan: StudentPlan) -> Transformer:
    """The classifier that a student begins with."""
    settings: dict[str, Any] = {"pooling": plan.pooling} if plan.pooling else {}
    model = plan.student
    if isinstance(teacher, Transformer):
        told = {"pooling": teacher.pooling, **teacher.settings(), **settings}
        settings = {name: value for name, value in told.items() if name not in _NOT_SHARED}
        if model == AS_BEGUN and (model := _origin_of(teacher)) == AS_BEGUN:
            return _like(teacher, settings["pooling"])
    elif model == AS_BEGUN:
        model = "embedded"
    return start(model, examples, teacher.labels, plan.seed + _AWAY, **settings)


def _origin_of(teacher: Transformer) -> str:
    """The name of the pretrained model that a model was trained from; that of none says that there is none."""
    source = teacher.origin.source if teacher.origin else None
    while source is not None and (record := read_record(source, TrainRecord)):
        if record.model == "tiny":
            break
        if read_record(record.model, TrainRecord) is None:
            return record.model
        source = record.model
    return AS_BEGUN


def _like(teacher: Transformer, pooling: Pooling) -> Transformer:
    """A model of the same architecture with new weights, which reads as the teacher does."""
    other = copy.copy(teacher)
    with quietly():
        other.model = type(teacher.model)(copy.deepcopy(teacher.model.config))
    other.model.set_attn_implementation("eager")
    other.model.eval()
    other.pooling, other.temperature, other.origin, other.learned = pooling, 1.0, None, {}
    with_mixture(other.model, pooling)
    return other
