"""Simulability: does somebody who sees the explanations learn to say what the model says?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Count, Positive, Presets, Share, Weight, Within, option
from veridical.core.errors import UnsupportedError
from veridical.core.progress import Watch
from veridical.core.values import Example, Explanation, content_hash
from veridical.masking import Engine
from veridical.metrics.base import CorpusJudge, CorpusMetric, Measured, check_pairs
from veridical.models import Classifier, Task
from veridical.simulation import StudentPlan
from veridical.simulation.lessons import Lesson, said_by, simulability
from veridical.simulation.plans import AS_BEGUN
from veridical.simulation.school import School


@dataclass(frozen=True)
class Simulability(CorpusMetric):
    """How often students that were taught with the explanations say what the model says of new texts (SMaT).

    Some of the documents teach new students: each learns the model's decision, and to attend to what the explanation
    names. The others test them, without explanations. The value of a test document is the share of students that agree
    with the model there; of a regression it is the product of both numbers in standard deviations, whose mean is
    Pearson's correlation. Documents that taught have none. Details are what each student said (`seed N`), and what
    students say that saw no explanation (`without N`): a method below these is of no help.
    """

    student: str = option(
        AS_BEGUN, "What students begin with: what the model began with (same), or a name as for `train --model`."
    )
    seeds: Annotated[int, Within(1, 100)] = option(5, "How many students there are, each with a seed of its own.")
    test: Share = option(0.3, "The share of the documents that students are tested on.")
    dev: Share = option(0.1, "The share of the documents by which students stop learning.")
    beta: Weight = option(5.0, "How much students are held to the explanations.")
    shares: Literal["auto", "softmax"] = option(
        "auto",
        "How scores become shares of a text: scores that are shares stay so, and others become them by a softmax of "
        "scores at a deviation of 1; or by one of the scores as they are, as published.",
    )
    temperature: Positive = option(1.0, "What scores are divided by before `softmax`.")
    rate: Positive = option(5e-3, "Learning rate of students.")
    epochs: Count = option(50, "Passes of students over their documents at most.")
    patience: Count = option(10, "A student stops after so many passes without progress.")
    batch_size: Count = option(32, "Documents per step of a student.")
    last_layer: bool = option(False, "Let students attend by their last layer only.")
    fewest: ClassVar[int] = 1
    meaning: ClassVar[str] = (
        "How often a student that was taught with the explanations says what the model says of other texts; for "
        "numbers the correlation."
    )
    weakness: ClassVar[str] = (
        "It asks whether explanations help to learn the decisions. Words that go with a decision do so, too, even if "
        "the model does not look at them. Depends on the students, and on how many documents teach them."
    )
    percent: ClassVar[bool] = True
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "smat": {"shares": "softmax"},
        "smat-gradients": {"shares": "softmax", "beta": 0.2},
        "ref_code-input-x-gradient": {"shares": "softmax", "beta": 0.2, "temperature": 0.1},
        "ref_code-integrated-gradients": {"shares": "softmax", "beta": 0.2, "temperature": 0.5},
    }

    def require(self, classifier: Classifier) -> None:
        if classifier.task is Task.LABELS:
            raise UnsupportedError("simulability needs a model that gives one class or a number per example")

    def judge(self, classifier: Classifier, watch: Watch) -> CorpusJudge:
        self.require(classifier)
        return _Exam(self, classifier, watch)

    def plan(self, seed: int) -> StudentPlan:
        """How the student of a seed is taught."""
        return StudentPlan(
            student=self.student,
            beta=self.beta,
            last_layer=self.last_layer,
            rate=self.rate,
            epochs=self.epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            seed=seed,
        )

    def split(self, examples: Sequence[Example]) -> tuple[list[int], list[int], list[int]]:
        """Which documents teach, stop and test; it depends on the documents and not on their order."""
        keys = [content_hash({"id": example.id, **example.inputs}) for example in examples]
        drawn = sorted(range(len(examples)), key=keys.__getitem__)
        test, dev = round(self.test * len(drawn)), round(self.dev * len(drawn))
        return drawn[test + dev :], drawn[test : test + dev], drawn[:test]

    def shares_of(self, explanation: Explanation) -> Tensor:
        """How an explanation shares out a text among its units, [U]."""
        scores = torch.tensor(explanation.scores)
        if self.shares == "softmax" or not len(scores):
            return (scores / self.temperature).softmax(0)
        total = float(scores.sum())
        if (scores >= 0).all() and 0 < total <= 1 + 1e-3:
            return scores / total
        spread = scores.std(correction=0)
        return ((scores - scores.mean()) / spread.clamp(min=1e-12)).softmax(0)


@dataclass(frozen=True)
class _Exam:
    """The students of a model, which are taught by some of its explanations and tested by others."""

    metric: Simulability
    classifier: Classifier
    watch: Watch

    def over(self, examples: Sequence[Example], explanations: Sequence[Explanation]) -> Measured:
        check_pairs(examples, explanations)
        logits = Engine().predict(self.classifier, examples) if examples else torch.zeros(0, 1)
        # Of explanations of several classes, that of the decision; a student sees a text once.
        own = [at for at, each in enumerate(explanations) if _is_of_decision(self.classifier, each, logits[at])]
        told = said_by(self.classifier, logits, soft=False)
        lessons = [Lesson(examples[at], told[at], self.metric.shares_of(explanations[at])) for at in own]
        train, dev, test = self.metric.split([examples[at] for at in own])
        values = torch.full((len(examples),), torch.nan)
        if len(train) < self.metric.batch_size or not dev or not test:
            self.watch.note(
                f"simulability is undefined: of {len(own)} documents {len(train)} would teach students, who learn from "
                f"{self.metric.batch_size} at a time. Audit more documents, or set a smaller batch_size",
                is_result=True,
            )
            return Measured(values)
        school = School(*(tuple(lessons[at] for at in part) for part in (train, dev, test)))
        theirs = logits[[own[at] for at in test]]
        agreed = {f"seed {seed}": each for seed, each in enumerate(self._agreed(school, theirs))}
        agreed |= {f"without {seed}": each for seed, each in enumerate(self._without(school, theirs))}

        def spread(found: Tensor) -> Tensor:
            return values.scatter(0, torch.tensor([own[at] for at in test]), found.float())

        mean = torch.stack([each for name, each in agreed.items() if name.startswith("seed")]).mean(0)
        return Measured(spread(mean), details={name: spread(each) for name, each in agreed.items()})

    def _agreed(self, school: School, theirs: Tensor, label: str = "students") -> list[Tensor]:
        """How well the student of each seed simulates the model, test document by test document."""
        count, found = self.watch.counter(label, self.metric.seeds), []
        for seed in range(self.metric.seeds):
            mine = school.answers(self.classifier, self.metric.plan(seed), self.watch.check)
            found.append(simulability(self.classifier, mine, theirs))
            count(1)
        return found

    def _without(self, school: School, theirs: Tensor) -> list[Tensor]:
        """The same for students that see no explanation: they are those of all methods."""
        bare = school.without_reasons
        lessons = (*bare.train, *bare.dev, *bare.test)
        told = [(each.example.id, *each.example.inputs.values(), each.said.tolist()) for each in lessons]
        fingerprint = str(self.classifier.describe().get("fingerprint"))
        key = (fingerprint, repr(self.metric), hash(str(told)))
        if key not in _KNOWN:
            _KNOWN.clear()  # one audit after the other
            _KNOWN[key] = self._agreed(bare, theirs, "students that see no explanation")
        return _KNOWN[key]


_KNOWN: dict[tuple[str, str, int], list[Tensor]] = {}
"""What students without explanations said last: each method of an audit is compared with the same."""


def _is_of_decision(classifier: Classifier, explanation: Explanation, logits: Tensor) -> bool:
    """Whether an explanation is of what the model decides."""
    return classifier.is_regression or explanation.target == classifier.target_name(int(logits.argmax()))
