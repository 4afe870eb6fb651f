"""The bilevel loop: an explainer learns from how well a student does that was taught with its explanations (SMaT)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, distributed

from veridical.core.errors import InputError, ModelError
from veridical.core.progress import Watch
from veridical.models import Batch
from veridical.models.weights import read_weights, write_weights
from veridical.simulation.hypergradient import OuterAdam, hypergradient, over_processes
from veridical.simulation.lessons import Lesson, agreement, batches
from veridical.simulation.mixtures import Mixture, shares
from veridical.simulation.plans import ScaffoldPlan, StudentPlan
from veridical.simulation.students import Student

_OUTER_SEED = 7_919
"""Outer batches come in another order than those of the student."""


@dataclass
class Scaffolded:
    """Where a scaffold stands: passes made, the best of them with its simulability on dev, and what each reached."""

    epoch: int = 0
    best_epoch: int = -1
    best: float = -2.0
    history: list[float] = field(default_factory=list)


class Scaffold:
    """An explainer and the student that it teaches; `run` goes on until the student gets no better."""

    def __init__(self, student: Student, mixture: Mixture, plan: ScaffoldPlan) -> None:
        self.student, self.mixture, self.plan = student, mixture, plan
        self.parameters = list(mixture.parameters())
        self.outer = OuterAdam(self.parameters, plan.outer_rate, plan.outer_root, plan.clip)
        self.state = Scaffolded()
        self.kept = student.copied(), [each.detach().clone() for each in self.parameters]
        self.seconds = {"student": 0.0, "explainer": 0.0}

    def run(
        self,
        lessons: Sequence[Lesson],
        outer: Sequence[Lesson],
        dev: Sequence[Lesson],
        place: Path,
        watch: Watch,
    ) -> Scaffolded:
        """Teach both from where they are; the weights of both are then those of the best pass over the lessons.

        After each pass the whole state goes to the file in `place`, and the same call goes on from there.
        """
        check_enough(lessons, outer, self.plan)
        torch.manual_seed(self.plan.seed)
        self.restore(place)
        said, examples = torch.stack([each.said for each in dev]), [each.example for each in dev]
        while not self._is_over():
            self._pass(lessons, outer, watch)
            found = agreement(self.student.classifier, self.student.said(examples), said)
            self._judge(found)
            if _place() == 0:
                self.save(place)
            watch.note(f"simulability on dev {found:.4f}, heads in use {self._in_use()}", is_result=True)
        self.student.take(self.kept[0])
        with torch.no_grad():
            for own, best in zip(self.parameters, self.kept[1], strict=True):
                own.copy_(best)
        return self.state

    @property
    def cost(self) -> float:
        """The time of a step, in steps of the student alone."""
        return sum(self.seconds.values()) / max(self.seconds["student"], 1e-9)

    def step(self, chosen: Sequence[Lesson], outer: Sequence[Lesson], learns: bool = True) -> None:
        """A real step of the student; then the explainer learns from a step further that is not taken."""
        began = time.perf_counter()
        student, batch = self.student, self._encoded(chosen)
        said, sources = _said(chosen), _sources(chosen, batch)
        why = self._shares(sources, batch).detach()
        student.take(student.update(student.weights, self._mean(self._gradients(student.loss(batch, said, why)))))
        middle = time.perf_counter()
        if learns:
            self.outer.step(self.hypergradient(batch, said, sources, outer))
            self.check_weights()
        ended = time.perf_counter()
        self.seconds["student"] += middle - began
        self.seconds["explainer"] += ended - middle

    def hypergradient(self, batch: Batch, said: Tensor, sources: Tensor, outer: Sequence[Lesson]) -> list[Tensor]:
        """The derivative of the student's loss on other examples by the parameters of the explainer."""
        student, other = self.student, self._encoded(outer)

        def inner() -> Tensor:
            return student.loss(batch, said, self._shares(sources, batch))

        def beyond(weights: Sequence[Tensor]) -> Tensor:
            with student.classifier.evaluating():
                return student.loss(other, _said(outer), weights=weights)

        return hypergradient(inner, beyond, student.weights, self.parameters, student.update, self._mean)

    def save(self, place: Path) -> None:
        """Write all that the next step depends on, in one file."""
        student, explainer = self.kept
        state = self.state
        numbers = torch.tensor([state.epoch, state.best_epoch, self.outer.steps], dtype=torch.long)
        place.mkdir(parents=True, exist_ok=True)
        write_weights(
            place,
            {
                **_numbered("student", self.student.weights),
                **_numbered("explainer", self.parameters),
                **_numbered("kept-student", student),
                **_numbered("kept-explainer", explainer),
                **_numbered("moment", self.outer.moments),
                **_numbered("square", self.outer.squares),
                "numbers": numbers,
                "history": torch.tensor([state.best, *state.history], dtype=torch.double),
                "chance": torch.get_rng_state(),
            },
        )

    def restore(self, place: Path) -> None:
        """Take up the state that was written to a folder, if there is one."""
        if not any(place.glob("*.safetensors")):
            return
        found = read_weights(place)
        self.student.take(_named("student", found))
        self.kept = _named("kept-student", found), _named("kept-explainer", found)
        with torch.no_grad():
            for mine, name in (
                (self.parameters, "explainer"),
                (self.outer.moments, "moment"),
                (self.outer.squares, "square"),
            ):
                for own, was in zip(mine, _named(name, found), strict=True):
                    own.copy_(was)
        epoch, best_epoch, self.outer.steps = found["numbers"].tolist()
        best, *history = found["history"].tolist()
        self.state = Scaffolded(epoch, best_epoch, best, history)
        torch.set_rng_state(found["chance"])

    def _pass(self, lessons: Sequence[Lesson], outer: Sequence[Lesson], watch: Watch) -> None:
        """One pass over the lessons; outer batches go round."""
        epoch, plan = self.state.epoch, self.plan
        parts = list(batches(lessons, plan, epoch))
        others = list(batches(outer, plan, epoch, _OUTER_SEED))
        count = watch.counter(f"pass {epoch + 1} of at most {plan.epochs}", len(parts))
        with self.student.learning():
            for at, chosen in enumerate(parts):
                turn = epoch * len(parts) + at
                self.step(_own(chosen), _own(others[turn % len(others)]), turn % plan.every == 0)
                count(1)

    def _judge(self, found: float) -> None:
        """Keep what is best so far."""
        state = self.state
        state.history.append(found)
        if found > state.best:
            state.best, state.best_epoch = found, state.epoch
            self.kept = self.student.copied(), [each.detach().clone() for each in self.parameters]
        state.epoch += 1

    def _is_over(self) -> bool:
        state = self.state
        return state.epoch >= self.plan.epochs or state.epoch - 1 - state.best_epoch >= self.plan.patience

    def _encoded(self, lessons: Sequence[Lesson]) -> Batch:
        return self.student.classifier.encode([lesson.example for lesson in lessons])

    def _gradients(self, loss: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(loss, self.student.weights, allow_unused=True, materialize_grads=True))

    def _shares(self, sources: Tensor, batch: Batch) -> Tensor:
        return shares(self.mixture(sources), batch.rows)

    def check_weights(self) -> None:
        """Refuse an explainer that looks at nothing any more, as one whose weights are no numbers or all 0."""
        with torch.no_grad():
            weights = self.mixture.weights()
        if not (torch.isfinite(weights).all() and weights.any()):
            raise ModelError(
                "no attention head or gradient has any weight left, so the explainer explains nothing",
                remedy="Take a lower --outer-rate, or another --weighing: sparsemax always leaves one.",
            )

    def _mean(self, own: Sequence[Tensor]) -> Sequence[Tensor]:
        return over_processes(own)

    def _in_use(self) -> int:
        with torch.no_grad():
            return int((self.mixture.weights() > 0).sum())


def check_enough(lessons: Sequence[Lesson], outer: Sequence[Lesson], plan: StudentPlan) -> None:
    """Refuse fewer examples than a batch, and a model that says the same of all of them."""
    for name, several in (("for the student", lessons), ("that the explainer learns from", outer)):
        if len(several) < plan.batch_size:
            raise InputError(
                f"there are {len(several)} examples {name}, fewer than a batch of {plan.batch_size}",
                remedy="Give more of them, or a smaller --batch-size.",
            )
    said = torch.stack([lesson.said for lesson in lessons])
    decided = said.argmax(1) if said.dim() == 2 else said
    if bool((decided == decided[0]).all()):
        raise InputError(
            "the model says the same of all examples, so there is nothing to simulate",
            remedy="Give examples of several classes, or look at the model: `veridical predict`.",
        )


def _own(lessons: Sequence[Lesson]) -> Sequence[Lesson]:
    """The share of a batch that this process has."""
    return lessons[_place() :: distributed.get_world_size()] if distributed.is_initialized() else lessons


def _place() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0


def _said(lessons: Sequence[Lesson]) -> Tensor:
    return torch.stack([lesson.said for lesson in lessons])


def _sources(lessons: Sequence[Lesson], batch: Batch) -> Tensor:
    """What shares of tokens are made of, [R, J, T], padded to the rows of a batch."""
    rows = [row for lesson in lessons for row in lesson.why or ()]
    found = torch.zeros(len(rows), rows[0].shape[0], batch.rows.unit_of.shape[1])
    for at, row in enumerate(rows):
        found[at, :, : row.shape[1]] = row
    return found


def _numbered(name: str, tensors: Sequence[Tensor]) -> dict[str, Tensor]:
    return {f"{name}.{at:04}": each for at, each in enumerate(tensors)}


def _named(name: str, found: dict[str, Tensor]) -> list[Tensor]:
    return [values for key, values in sorted(found.items()) if key.rpartition(".")[0] == name]
