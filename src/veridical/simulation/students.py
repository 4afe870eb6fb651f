"""Students of a model: they learn its answers from few examples, with help from explanations or without."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from veridical.core.errors import InputError, UnsupportedError, UsageError
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
from veridical.simulation.mixtures import Mixture, head_logits, shares
from veridical.simulation.plans import AS_BEGUN, StudentPlan

Level = Literal["tokens", "units"]
"""What shares are given to: the tokens of the model's input, special ones too, or the words people read."""

_FLOOR = 1e-7
"""The least share that a logarithm is taken of."""

_AWAY = 7_919
"""What a student's seed is shifted by: the model, trained by the same seed, must not have begun with its weights."""

_NOT_SHARED = {"temperature", "threshold"}
"""Settings of a model that say how sure it is, and not what it reads."""


@dataclass(frozen=True)
class Lesson:
    """An example, what the model says of it, and why.

    `said` is the index of a class, probabilities [C] or a number. `why` are shares of units [U], or what shares of
    tokens are made of: for each of its rows, sources [J, T].
    """

    example: Example
    said: Tensor
    why: Tensor | tuple[Tensor, ...] | None = None


@dataclass(frozen=True)
class School:
    """What students learn from, stop by and are tested on."""

    train: Sequence[Lesson]
    dev: Sequence[Lesson]
    test: Sequence[Lesson]

    @property
    def without_reasons(self) -> School:
        """The same for students that see no explanation."""
        return replace(self, train=tuple(replace(lesson, why=None) for lesson in self.train))

    def answers(self, teacher: Classifier, plan: StudentPlan, stop: Callable[[], None] = lambda: None) -> Tensor:
        """What a new student, after it was taught, says of the test lessons: logits [N, C]."""
        student = new_student(teacher, [lesson.example for lesson in self.train], plan)
        teach(student, self.train, self.dev, stop)
        return student.said([lesson.example for lesson in self.test])


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


def similarity_loss(classifier: Classifier, logits: Tensor, said: Tensor) -> Tensor:
    """How far logits [N, C] are from what the model says of each example: classes [N], probabilities or numbers."""
    if classifier.is_regression:
        return functional.mse_loss(logits[:, 0], said)
    return functional.cross_entropy(logits, said)


def divergence(why: Tensor, mine: Tensor) -> Tensor:
    """The divergence of own shares from given ones, KL(why || mine), the mean over rows."""
    terms = why * (why.clamp(min=_FLOOR).log() - mine.clamp(min=_FLOOR).log())
    return terms.sum(1).mean()


def to_unit_shares(tokens: Tensor, batch: Batch) -> Tensor:
    """Shares of units, [B, U], from shares of tokens [R, T]; what special tokens have is shared out again."""
    rows, live = batch.rows, batch.live
    real = rows.unit_of >= 0
    slot = (rows.owner[:, None] * live.shape[1] + rows.unit_of)[real]
    flat = tokens.new_zeros(live.numel()).index_add(0, slot.to(tokens.device), tokens[:, : real.shape[1]][real])
    units = flat.view(live.shape)
    return units / units.sum(1, keepdim=True).clamp(min=_FLOOR)


def said_by(classifier: Classifier, logits: Tensor, soft: bool) -> Tensor:
    """What students learn of a model's logits [N, C]: classes [N], probabilities [N, C] or numbers [N]."""
    if classifier.is_regression:
        return logits[:, 0]
    return classifier.probabilities(logits) if soft else logits.argmax(1)


def simulability(classifier: Classifier, mine: Tensor, theirs: Tensor) -> Tensor:
    """How well logits simulate others, both [N, C], example by example: 1 for the same class, 0 for another.

    For numbers it is the product of what both are above their means, in standard deviations: the mean of that is the
    Pearson correlation. It is 0 where one of them says the same of all examples.
    """
    if not classifier.is_regression:
        return (mine.argmax(1) == theirs.argmax(1)).float()
    return _standard(mine[:, 0]) * _standard(theirs[:, 0])


def _standard(numbers: Tensor) -> Tensor:
    numbers = numbers.double()
    spread = numbers.std(correction=0)
    return (numbers - numbers.mean()) / spread if spread > 0 else torch.zeros_like(numbers)


def batches(lessons: Sequence[Lesson], plan: StudentPlan, epoch: int, shift: int = 0) -> Iterator[list[Lesson]]:
    """The lessons of an epoch in batches: their order depends on the seed, a shift of it and the epoch only."""
    generator = torch.Generator().manual_seed((plan.seed + shift) * 100_003 + epoch)
    order = torch.randperm(len(lessons), generator=generator).tolist()
    # A rest that is smaller than a batch is left to a later epoch, whose order is another; a gradient of few is noise.
    end = max(plan.batch_size, len(order) - len(order) % plan.batch_size)
    for begin in range(0, min(end, len(order)), plan.batch_size):
        yield [lessons[at] for at in order[begin : begin + plan.batch_size]]


def padded_units(lessons: Sequence[Lesson], batch: Batch) -> Tensor:
    """The shares of units of some lessons, [B, U]."""
    for lesson, units in zip(lessons, batch.units, strict=True):
        assert isinstance(lesson.why, Tensor)
        if len(lesson.why) != len(units):
            raise InputError(
                f"its explanation has {len(lesson.why)} parts, and the student reads {len(units)}",
                example=lesson.example.id,
                remedy="Let students begin with a model that cuts texts alike, and reads texts as long.",
            )
    return pad_sequence([lesson.why for lesson in lessons], batch_first=True)  # type: ignore[misc]


def teach(
    student: Student, lessons: Sequence[Lesson], dev: Sequence[Lesson], stop: Callable[[], None] = lambda: None
) -> float:
    """Teach a student by lessons of units, until dev lessons show no progress; it keeps the best weights.

    The result is how well it simulates the model on dev. `stop` is called after each step.
    """
    plan, best, best_at, kept = student.plan, -1.0, 0, student.copied()
    wanted = torch.stack([lesson.said for lesson in dev])
    examples = [lesson.example for lesson in dev]
    with torch.random.fork_rng():
        torch.manual_seed(plan.seed)
        for epoch in range(plan.epochs):
            with student.learning():
                for chosen in batches(lessons, plan, epoch):
                    batch = student.classifier.encode([lesson.example for lesson in chosen])
                    why = padded_units(chosen, batch) if chosen[0].why is not None else None
                    student.step(student.loss(batch, torch.stack([each.said for each in chosen]), why, "units"))
                    stop()
            found = agreement(student.classifier, student.said(examples), wanted)
            if found > best:
                best, best_at, kept = found, epoch, student.copied()
            elif epoch - best_at >= plan.patience:
                break
    student.take(kept)
    return best


def agreement(classifier: Classifier, logits: Tensor, said: Tensor) -> float:
    """How well logits [N, C] simulate what was said of the same examples: accuracy, or Pearson's correlation."""
    theirs = said[:, None] if classifier.is_regression else said
    if not classifier.is_regression and said.dim() == 1:
        theirs = functional.one_hot(said, logits.shape[1])
    return float(simulability(classifier, logits, theirs).mean())
