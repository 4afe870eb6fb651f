"""A school: new students are taught by explanations, and tested on texts without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from veridical.models import Classifier
from veridical.simulation.lessons import Lesson, agreement, batches, padded_units
from veridical.simulation.plans import StudentPlan
from veridical.simulation.students import Student, new_student


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
