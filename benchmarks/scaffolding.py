"""What the bilevel step of SMaT costs: its time and its memory over those of a plain step of the student alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import torch
from foundation import peak_memory
from record import Row
from timing import interleaved
from workload import Sizes

from veridical.data import load
from veridical.explainers import AttentionMixture
from veridical.models import Classifier
from veridical.models.new import start
from veridical.simulation import ScaffoldPlan
from veridical.simulation.lessons import Lesson
from veridical.simulation.scaffold import Scaffold
from veridical.simulation.students import new_student

PLAN = ScaffoldPlan(student="embedded")
PLAIN, BILEVEL = "plain", "bilevel"
TIME_BAR, MEMORY_BAR = 6.0, 3.0


def rows(sizes: Sizes) -> list[Row]:
    """Time and memory of a bilevel step over a plain one, on the embedded model and batches of short reviews."""
    runs = {name: _steps(name, sizes.training_batches) for name in (PLAIN, BILEVEL)}
    times = interleaved(runs, sizes.rounds)
    ratio = times[BILEVEL] / times[PLAIN]
    memory = {name: _memory(name) for name in (PLAIN, BILEVEL)}
    told = f"{times[BILEVEL]:.1f} s against {times[PLAIN]:.1f} s"
    held = f"{memory[BILEVEL]:.0f} MB against {memory[PLAIN]:.0f} MB above what the process has before its first step"
    return [
        Row("a bilevel step of scaffold / a plain step of its student", round(ratio, 3), told, at_most=TIME_BAR),
        Row(
            "memory of a bilevel step / of a plain one",
            round(memory[BILEVEL] / memory[PLAIN], 3),
            held,
            at_most=MEMORY_BAR,
        ),
    ]


def _steps(name: str, batches: int) -> Callable[[], None]:
    """Steps on batches of texts; the model is the embedded one with a new head, for what it says does not matter."""
    size = PLAN.batch_size
    texts = sorted(load(f"reviews:train[:{size * batches}]"), key=lambda each: len(str(each.inputs["text"])))
    classifier = start("embedded", texts, ("negative", "positive"), seed=1)
    student = new_student(classifier, texts, PLAN)
    explainer = AttentionMixture.of(classifier, classifier.encode(texts[:1]).rows)
    doing = Scaffold(student, explainer.mixture, PLAN)
    lessons = [_lesson(classifier, explainer, text, at % 2) for at, text in enumerate(texts)]
    parts = [lessons[at : at + size] for at in range(0, len(lessons), size)]

    def run() -> None:
        with student.learning():
            for at, part in enumerate(parts):
                if name == BILEVEL:
                    doing.step(part, parts[(at + 1) % len(parts)])
                else:
                    batch = student.classifier.encode([lesson.example for lesson in part])
                    student.step(student.loss(batch, torch.stack([lesson.said for lesson in part])))

    return run


def _lesson(classifier: Classifier, explainer: AttentionMixture, text: object, said: int) -> Lesson:
    rows = classifier.encode([text]).rows  # type: ignore[list-item]
    with torch.no_grad():
        [sources] = explainer.sources_of(classifier, rows, torch.ones(1, 2))
    return Lesson(text, torch.tensor(said), (sources,))  # type: ignore[arg-type]


def _memory(name: str) -> float:
    """How much more a process needs for steps than it has before the first one, in megabytes."""
    told = subprocess.run([sys.executable, __file__, name], check=True, capture_output=True, text=True)
    return float(told.stdout)


if __name__ == "__main__":
    steps = _steps(sys.argv[1], 2)
    before = peak_memory()
    steps()
    print(peak_memory() - before)
