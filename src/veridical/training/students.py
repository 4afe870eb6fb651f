"""Distilling: train a student on lessons, with the loop that trains classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers.trainer_utils import set_seed

from veridical.core.errors import UnsupportedError, UsageError
from veridical.core.progress import Watch
from veridical.core.values import IMAGE, Example
from veridical.explainers.students import PADDING, SideStudent, Student, WordNetwork, WordStudent, hashed
from veridical.models import Ability, Classifier
from veridical.models.architecture import quietly
from veridical.training.checkpoints import last_checkpoint
from veridical.training.lessons import (
    Aims,
    Lesson,
    Lessons,
    aims_of,
    level_loss,
    order_accuracy,
    order_loss,
    squared_error,
)
from veridical.training.schedule import Distillation
from veridical.training.trainer import TermTrainer, WatchCallback, arguments, early_stopping

_NARROW, _RUNGS = 8, 1
"""A side network is so many times as narrow as the model, and so deep: a second layer learns no more."""

_WIDTH, _DEPTH = 256, 2
"""The size of a student of words beside a model that shows no states."""

_CACHE = 2 << 30
"""Bytes of hidden states that are kept; with more, the model runs again in each epoch."""

_DEV_AT_ONCE = 64


def check_plan(plan: Distillation, classifier: Classifier, example: Example) -> None:
    """Refuse a student that cannot be made for a model, before its teacher is paid; `example` is one to explain."""
    body = _body(plan, classifier)
    _check_predicts(plan, classifier, body)
    if body == "words":
        if IMAGE in example.inputs:
            raise UnsupportedError(
                "a student of words cannot read images", example=example.id, remedy="Distil with --body side."
            )
        if plan.tags and plan.form == "scores":
            raise UsageError(
                "a student of scores has no label tokens that could learn",
                remedy="Leave --tags away, or distil with --form ranking or labels.",
            )
        return
    classifier.require(Ability.HIDDEN, asker="a student with --body side")
    for name in ("tags", "positions"):
        if getattr(plan, name):
            raise UsageError(
                f"a student with --body side reads the model's states, and --{name} is about words",
                remedy=f"Leave --{name} away, or distil with --body words.",
            )
    if plan.depth is not None and plan.depth > (most := len(_states(classifier, example))):
        raise UsageError(
            f"a student with --body side has at most a layer for each of the model's {most} states, not {plan.depth}",
            remedy=f"Give --depth {most} or less, or distil with --body words.",
        )


def _check_predicts(plan: Distillation, classifier: Classifier, body: str) -> None:
    """Refuse a student that cannot take the place of the model."""
    if plan.predicts and body == "side":
        raise UsageError(
            "a student that reads a model's states cannot do without the model",
            remedy="Leave --predicts away, or distil with --body words.",
        )
    if plan.predicts and (units := classifier.describe().get("units", "word")) != "word":
        raise UsageError(
            f"a student that predicts cuts texts into words, and this model's parts are called {units}",
            remedy="Distil with --units word.",
        )


def _body(plan: Distillation, classifier: Classifier) -> str:
    if plan.body != "auto":
        return plan.body
    return "side" if Ability.HIDDEN in classifier.provides and not plan.predicts else "words"


def _states(classifier: Classifier, example: Example) -> Sequence[Tensor]:
    """The hidden states of a pass."""
    found = classifier.forward(classifier.encode([example]), hidden=True).hidden
    assert found is not None
    return found


def new_student(plan: Distillation, classifier: Classifier, lessons: Lessons) -> Student:
    """A new student for a model and some lessons, by a plan that was checked."""
    body = _body(plan, classifier)
    states = _states(classifier, lessons.items[0].example) if Ability.HIDDEN in classifier.provides else None
    taught = tuple(name for at, name in enumerate(classifier.labels) if at in lessons.targets)
    shared: dict[str, Any] = {
        "labels": tuple(classifier.labels),
        "form": plan.form,
        "levels": 5 if lessons.signed else 3,
        "scale": lessons.scale,
        "taught": () if taught == tuple(classifier.labels) else taught,
        **lessons.game,
        "heads": plan.heads,
        "dropout": plan.dropout,
        "seed": plan.seed,
    }
    if body == "words":
        words = _commonest(lessons, plan.vocabulary)
        width, depth = _size_beside(states, plan.heads)
        decides: dict[str, Any] = {"predicts": True} if plan.predicts else {}
        if plan.predicts and classifier.is_multi_label:
            decides |= {"several": True, "threshold": classifier.threshold}
        made = WordStudent(
            words=len(words),
            width=plan.width or width,
            depth=plan.depth or depth,
            positions=plan.positions,
            **decides,
            **shared,
        )
        cast("WordNetwork", made.network).vocabulary.copy_(torch.tensor(words))
        return made
    assert states is not None
    size = states[0].shape[-1]
    width = plan.width or _divisible(size // _NARROW, plan.heads)
    return SideStudent(
        size=size,
        states=len(states),
        normalise=classifier.norms_first,
        width=width,
        depth=plan.depth or _RUNGS,
        **shared,
    )


def _size_beside(states: Sequence[Tensor] | None, heads: int) -> tuple[int, int]:
    """Width and depth of a student of words that is fast beside a model with these states.

    Two thirds of its width and a third of its depth: beside BERT-base that is the published student.
    """
    if states is None:
        return _divisible(_WIDTH, heads), _DEPTH
    return _divisible(states[0].shape[-1] * 2 // 3, heads), max(1, (len(states) - 1) // 3)


def _divisible(width: int, heads: int) -> int:
    """The largest width up to this one that all heads can share."""
    return max(1, width // heads) * heads


def _commonest(lessons: Lessons, most: int) -> list[int]:
    """Hashes of the commonest words, sorted by how often they occur."""
    counts: dict[int, int] = {}
    for lesson in lessons.items:
        for unit in lesson.units:
            counts[hashed(unit.text)] = counts.get(hashed(unit.text), 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))[:most]


@dataclass(frozen=True)
class Taught:
    """How a distilling went: the dev figures of the best checkpoint, and the step that it went on from."""

    dev: dict[str, float]
    history: tuple[dict[str, float], ...]
    resumed_from: int


def teach(
    student: Student,
    classifier: Classifier,
    lessons: Lessons,
    dev: Lessons,
    out: str | PathLike[str],
    plan: Distillation,
    watch: Watch | None = None,
) -> Taught:
    """Train a student in place; afterwards it has the weights of the best checkpoint by the loss on dev lessons.

    It also knows then how far dev texts are from those that it learned from. Checkpoints go to `out`, and training goes
    on from the last one.
    """
    folder = Path(out)
    kind: type[_Reader] = _StateReader if isinstance(student, SideStudent) else _WordReader
    reader = kind(student, classifier)
    pupil = Pupil(student, reader, plan)
    last = last_checkpoint(folder)
    set_seed(plan.seed)
    items = reader.prepared(lessons.items)
    schedule = plan.schedule(sum(len(item.lesson.units) for item in items) / len(items))
    trainer = StudentTrainer(
        pupil,
        [len(item.lesson.units) for item in items],
        plan.optimiser,
        train_dataset=items,
        eval_dataset=reader.prepared(dev.items),
        data_collator=lambda chosen: {"batch": chosen},
        args=arguments(schedule, "loss", len(items), folder, plan.rate, plan.decay == "linear"),
        callbacks=[*early_stopping(schedule), WatchCallback(watch or Watch())],
    )
    with quietly():
        trainer.go(folder, last)
    student.network.eval()
    student.body.remember(pupil.pooled(items), pupil.pooled(trainer.eval_dataset))
    history = tuple(dict(line) for line in trainer.state.log_history)
    return Taught(trainer.best_figures(), history, last.step)


class StudentTrainer(TermTrainer):
    """Trains a student on lessons."""

    def __init__(self, pupil: Pupil, lengths: Sequence[int], optimiser: str, **rest: Any) -> None:
        super().__init__(pupil, lengths, **rest)
        self.optimiser = optimiser

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        if self.optimiser == "sgd" and self.optimizer is None:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.args.learning_rate)
        made: torch.optim.Optimizer = super().create_optimizer()
        return made


@dataclass(frozen=True)
class _Seen:
    """A lesson with what a side network reads of it: for each of its windows states [S, L, d] and units [L].

    `decision` [C] is what the model says, for a student that learns it, too.
    """

    lesson: Lesson
    decision: Tensor | None = None
    states: tuple[Tensor, ...] = ()
    unit_of: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class Answers:
    """A network's `numbers` for each pair of a text and a target [P, U, K], and those of its label `tags` [P, 2, K]."""

    numbers: Tensor
    tags: Tensor | None = None


class Pupil(nn.Module):
    """A student in training: its forward makes the loss of some lessons."""

    def __init__(self, student: Student, reader: _Reader, plan: Distillation) -> None:
        super().__init__()
        self.network = student.network
        self._held = (student, reader, plan)  # in a tuple: torch would register the network once more

    def forward(self, batch: Sequence[_Seen]) -> dict[str, Any]:
        answers, aims = self._answers(batch)
        return {"loss": self._loss(answers, aims) + self._held[1].decided(batch)[0], "terms": {}}

    def _answers(self, batch: Sequence[_Seen]) -> tuple[Answers, Aims]:
        student, reader, _ = self._held
        aims = aims_of([seen.lesson for seen in batch], student.levels)
        return reader.answers(batch, aims), aims

    def _loss(self, answers: Answers, aims: Aims, generator: torch.Generator | None = None) -> Tensor:
        student, _, plan = self._held
        found, tags = answers.numbers, answers.tags if plan.tags else None
        if student.form == "scores":
            return squared_error(found[..., 0], aims, plan.reduction)
        if student.form == "labels":
            return level_loss(found, aims, plan.reduction, tags)
        ends = None if tags is None else tags[..., 0]
        return order_loss(found[..., 0], self._sizes(aims), aims.live, plan.reduction, ends, generator)

    def _sizes(self, aims: Aims) -> Tensor:
        return aims.scores if self._held[2].by_sign else aims.scores.abs()

    def figures(self, examples: Sequence[_Seen]) -> dict[str, float]:
        """The loss on some lessons, and how well the student answers: right levels, or pairs in the right order."""
        self.network.eval()
        same = torch.Generator().manual_seed(
            0
        )  # each look compares the same pairs of words, or looks cannot be compared
        totals: dict[str, list[float]] = {}
        count = 0
        for start in range(0, len(examples), _DEV_AT_ONCE):
            batch = examples[start : start + _DEV_AT_ONCE]
            with torch.no_grad():
                answers, aims = self._answers(batch)
                undecided, figures = self._held[1].decided(batch)
                loss = float(self._loss(answers, aims, same) + undecided)
                told = {"loss": loss, **self._answered(answers.numbers, aims), **figures}
            for name, value in told.items():
                totals.setdefault(name, []).append(value * len(batch))
            count += len(batch)
        return {name: sum(values) / count for name, values in totals.items()}

    def _answered(self, found: Tensor, aims: Aims) -> dict[str, float]:
        if self._held[0].form == "labels":
            right = (found.argmax(-1) == aims.level) & aims.live
            return {"accuracy": float((right.sum(1) / aims.live.sum(1)).mean())}
        sizes = aims.scores if self._held[0].form == "scores" else self._sizes(aims)
        ordered = order_accuracy(found[..., 0], sizes, aims.live)
        return {"order": float(ordered[~ordered.isnan()].mean()) if (~ordered.isnan()).any() else 0.5}

    def pooled(self, items: Sequence[_Seen]) -> Tensor:
        """What texts are compared by, [N, w]."""
        _, reader, _ = self._held
        with torch.no_grad():
            return torch.cat(
                [reader.pooled(items[at : at + _DEV_AT_ONCE]) for at in range(0, len(items), _DEV_AT_ONCE)]
            )


class _Reader:
    """How a body reads lessons."""

    def __init__(self, student: Student, classifier: Classifier) -> None:
        raise NotImplementedError

    def prepared(self, lessons: Sequence[Lesson]) -> list[_Seen]:
        """Lessons with what is read of them."""
        return [_Seen(lesson) for lesson in lessons]

    def answers(self, batch: Sequence[_Seen], aims: Aims) -> Answers:
        """The network's numbers for each pair of a text and a target."""
        raise NotImplementedError

    def decided(self, batch: Sequence[_Seen]) -> tuple[Tensor, dict[str, float]]:
        """How far the student's decisions are from the model's, and a figure of that; most decide nothing."""
        return torch.zeros(()), {}

    def pooled(self, batch: Sequence[_Seen]) -> Tensor:
        """What texts are compared by, [B, w]."""
        raise NotImplementedError


class _WordReader(_Reader):
    """Reads the words of lessons, and for a student that predicts, what the model decides."""

    def __init__(self, student: Student, classifier: Classifier) -> None:
        assert isinstance(student, WordStudent)
        self.student, self.classifier = student, classifier

    def prepared(self, lessons: Sequence[Lesson]) -> list[_Seen]:
        """Lessons, those of long texts in windows."""
        student, found = self.student, []
        decisions = self._decisions(lessons) if student.predicts else [None] * len(lessons)
        for lesson, decision in zip(lessons, decisions, strict=True):
            windows = student.windows(len(lesson.units))
            parts = [lesson.part(*each, student.levels) for each in windows] if len(windows) > 1 else [lesson]
            found += [_Seen(part, decision) for part in parts]
        return found

    def _decisions(self, lessons: Sequence[Lesson]) -> list[Tensor]:
        """What the model says of each text: probabilities, or a number, whose mean and spread the student is told."""
        found = []
        for start in range(0, len(lessons), _DEV_AT_ONCE):
            encoded = self.classifier.encode([lesson.example for lesson in lessons[start : start + _DEV_AT_ONCE]])
            with torch.no_grad(), self.classifier.evaluating(), self.classifier.fused():
                logits = self.classifier.forward(encoded).logits
            found.append(self.classifier.probabilities(logits) if self.student.labels else logits)
        told = torch.cat(found).float()
        level = cast("WordNetwork", self.student.network).level
        if not self.student.labels and level.tolist() == [0.0, 1.0]:
            level.copy_(torch.stack([told.mean(), told.std().clamp(min=1e-6)]))
        return list(told)

    def decided(self, batch: Sequence[_Seen]) -> tuple[Tensor, dict[str, float]]:
        student = self.student
        if not student.predicts:
            return super().decided(batch)
        network = cast("WordNetwork", student.network)
        wanted = torch.stack([cast("Tensor", seen.decision) for seen in batch])
        tokens, fields = student.encode([seen.lesson.units for seen in batch])
        found = network.decisions(network(tokens, fields, None)[1], tokens != PADDING)
        if not student.labels:
            error = ((found - wanted) / network.level[1]).pow(2).mean()
            return error, {"unexplained": float(error.detach())}
        if student.several:
            same = ((found.sigmoid() >= student.threshold) == (wanted >= student.threshold)).float().mean()
            return functional.binary_cross_entropy_with_logits(found, wanted), {"agreement": float(same)}
        same = (found.argmax(1) == wanted.argmax(1)).float().mean()
        return functional.cross_entropy(found, wanted), {"agreement": float(same)}

    def answers(self, batch: Sequence[_Seen], aims: Aims) -> Answers:
        tokens, fields = self.student.encode([seen.lesson.units for seen in batch])
        if self.student.is_told_class:
            numbers, _, tags = self.student.tagged(tokens[aims.text], fields[aims.text], aims.target)
            return Answers(numbers, tags)
        numbers = self.student.network(tokens, fields, None)[0]  # [B, U, C]: once for all classes
        return Answers(numbers[aims.text].gather(2, aims.target[:, None, None].expand(-1, numbers.shape[1], 1)))

    def pooled(self, batch: Sequence[_Seen]) -> Tensor:
        tokens, fields = self.student.encode([seen.lesson.units for seen in batch])
        first = torch.tensor([seen.lesson.targets[0] for seen in batch])
        _, states = self.student.answers(tokens, fields, first)
        return self.student.pooled(states, tokens)


class _StateReader(_Reader):
    """Reads the hidden states of the frozen model, which are computed once where they fit into memory."""

    def __init__(self, student: Student, classifier: Classifier) -> None:
        assert isinstance(student, SideStudent)
        self.student, self.classifier = student, classifier

    def prepared(self, lessons: Sequence[Lesson]) -> list[_Seen]:
        words = sum(len(lesson.units) for lesson in lessons)
        half = 2  # bytes: more precision than a network needs that learns from noisy scores
        if words * self.student.states * self.student.size * half > _CACHE:
            return [_Seen(lesson) for lesson in lessons]
        seen: list[_Seen] = []
        for start in range(0, len(lessons), _DEV_AT_ONCE):
            seen += self._look([_Seen(lesson) for lesson in lessons[start : start + _DEV_AT_ONCE]])
        return seen

    def _look(self, batch: Sequence[_Seen]) -> list[_Seen]:
        """The same with hidden states, unless they have them."""
        if all(seen.states for seen in batch):
            return list(batch)
        encoded = self.classifier.encode([seen.lesson.example for seen in batch])
        rows = encoded.rows
        with torch.no_grad(), self.classifier.evaluating(), self.classifier.fused():
            hidden = self.classifier.run(rows, hidden=True).hidden
        assert hidden is not None
        states = torch.stack(hidden).half()  # [S, R, T, d]
        found = []
        for at, seen in enumerate(batch):
            if encoded.units[at] != seen.lesson.units:
                raise UnsupportedError(
                    "the teacher's words are not those that the model reads now",
                    example=seen.lesson.example.id,
                    remedy="Load the model with the settings that it was explained with.",
                )
            own = torch.nonzero(rows.owner == at)[:, 0].tolist()
            cut = [(states[:, row, : rows.lengths[row]].clone(), rows.unit_of[row, : rows.lengths[row]]) for row in own]
            found.append(replace(seen, states=tuple(s for s, _ in cut), unit_of=tuple(u for _, u in cut)))
        return found

    def _read(self, batch: Sequence[_Seen]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Numbers and states of tokens, [R, T, C K] and [R, T, w], their slots among units, and how long texts are."""
        seen = self._look(batch)
        windows = [window for each in seen for window in each.states]
        lengths = torch.tensor([window.shape[1] for window in windows])
        hidden = pad_sequence([window.transpose(0, 1) for window in windows], batch_first=True)  # [R, T, S, d]
        numbers, states = self.student.tokens(list(hidden.float().unbind(2)), lengths)
        owner = torch.tensor([at for at, each in enumerate(seen) for _ in each.states])
        unit_of = pad_sequence([units for each in seen for units in each.unit_of], batch_first=True, padding_value=-1)
        longest = max(len(each.lesson.units) for each in seen)
        slot = torch.where(unit_of < 0, -1, owner[:, None] * longest + unit_of)
        return numbers, states, slot, torch.tensor([len(seen), longest])

    def answers(self, batch: Sequence[_Seen], aims: Aims) -> Answers:
        numbers, _, slot, shape = self._read(batch)
        units = _to_units(numbers, slot, shape)[aims.text]  # [P, U, C K]
        count = self.student.per_class
        columns = aims.target[:, None] * count + torch.arange(count)  # [P, K]
        return Answers(units.gather(2, columns[:, None].expand(-1, units.shape[1], -1)))

    def pooled(self, batch: Sequence[_Seen]) -> Tensor:
        _, states, slot, shape = self._read(batch)
        total = _to_units(states, slot, shape)
        count = _to_units(torch.ones(*states.shape[:2], 1), slot, shape)
        return self.student.body.pooled(total / count.clamp(min=1), count[..., 0] > 0)


def _to_units(tokens: Tensor, slot: Tensor, shape: Tensor) -> Tensor:
    """The sum of tokens [R, T, K] over the units whose slots [R, T] they stand in, [B, U, K]."""
    texts, units = shape.tolist()
    real = slot >= 0
    flat = tokens.new_zeros(texts * units, tokens.shape[-1]).index_add(0, slot[real], tokens[real])
    return flat.view(texts, units, -1)
