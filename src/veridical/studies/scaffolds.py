"""The students of a study of SMaT: taught with each method's explanations, or those of explainers that learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from veridical.audits.plan import audited_metric
from veridical.audits.record import AuditedMetric
from veridical.core.files import read
from veridical.core.progress import Watch
from veridical.core.values import Example
from veridical.data import Dataset, in_split, load
from veridical.data.loader import file_name
from veridical.explainers import AttentionMixture
from veridical.masking import Case, Engine
from veridical.masking.engine import bf16_instructions
from veridical.metrics import METRICS, Metric, Simulability, measure
from veridical.models import Classifier, Rows
from veridical.run.explain import explain_to_file
from veridical.run.scaffold import Taught, scaffold
from veridical.run.train import train
from veridical.simulation import ScaffoldPlan, StudentPlan
from veridical.simulation.lessons import Lesson, agreement, said_by, simulability
from veridical.simulation.school import School
from veridical.studies.choice import audit_folder
from veridical.studies.distillations import BLACK_BOX
from veridical.studies.runs import Figures, Judged, SeedRun, judged_in
from veridical.studies.study import Preset, Study, StudyData, Variant

POOL, STUDENTS, PLAUSIBLE = "pool", "examples that teach students", "plausibility"
"""Names in a data set of a study: the data that teaches students, how much of it, and data with people's reasons."""

OWN, RIGHT, IN_USE = "simulability of the student it was taught with", "gold accuracy of new students", "sources in use"
"""Figures of a model; the first must not be compared with new students, who had nothing to do with the explainer."""

NEW = "new students"
"""What tables call the method by which the simulability of a variant is measured."""

_APART = 1000
"""New students have other seeds than those that an explainer was taught with."""


@dataclass(frozen=True)
class TeachingVariant(Variant):
    """A way to explain to students: by a `method`, by an explainer that is learned by a `plan`, or not at all.

    `beta` is how much students are held to the explanations.
    """

    matched: bool = False
    method: str | None = None
    plan: ScaffoldPlan | None = None
    beta: float = 5.0


@dataclass(frozen=True)
class ScaffoldPreset(Preset):
    """A size of a study of students; `students` says how they learn, and `judged` by which metrics reasons are."""

    students: StudentPlan = field(default_factory=StudentPlan)
    judged: str = "rationale-auc"

    @property
    def setting(self) -> str:
        plan = self.students
        pooled = f", pooling {plan.pooling}" if plan.pooling else ""
        told = f"rate {plan.rate:g}, at most {plan.epochs} passes in batches of {plan.batch_size}"
        return f"{super().setting}; students {told}, patience {plan.patience}{pooled}"


@dataclass(frozen=True)
class ScaffoldStudy(Study):
    """A study of students, whose `variants` are `TeachingVariant`s; seeds are those of students and explainers."""

    def teaching(self, name: str) -> TeachingVariant:
        """A variant by its name."""
        found = self.variants[name]
        assert isinstance(found, TeachingVariant)
        return found


@dataclass(frozen=True)
class _Teacher:
    """The model of a data set and all that students are taught, stopped and tested with."""

    data_set: StudyData
    place: Path
    folder: Path
    accuracy: float
    pool: Dataset
    dev: Dataset
    test: Dataset

    @cached_property
    def classifier(self) -> Classifier:
        """The model itself."""
        return Classifier.load(self.folder)

    def said(self, examples: Sequence[Example]) -> Tensor:
        """What the model says of examples, as logits."""
        return Engine().predict(self.classifier, examples)

    def lessons(self, examples: Sequence[Example], why: Sequence[Tensor | None]) -> list[Lesson]:
        """The examples with what the model says of them and why."""
        said = said_by(self.classifier, self.said(examples), soft=False)
        return [Lesson(*each) for each in zip(examples, said, why, strict=True)]


@dataclass(frozen=True)
class ScaffoldRuns:
    """The students of a study in one of its sizes, in a folder; `known` are runs of an earlier time."""

    study: ScaffoldStudy
    preset: ScaffoldPreset
    folder: Path
    watch: Watch
    known: Sequence[SeedRun] = ()

    def on(self, data_set: StudyData) -> Iterator[Sequence[SeedRun]]:
        """Everything that is measured on a data set, seed by seed and variant by variant."""
        teacher: _Teacher | None = None
        for seed in self.preset.seeds:
            kept = {run.variant: run for run in self.known if (run.data_set, run.seed) == (data_set.name, seed)}
            for name in self.study.variants_on(data_set):
                if name in kept:  # what is measured here depends on nothing else
                    yield [kept[name]]
                    continue
                teacher = teacher or self._teacher(data_set)
                yield [self._run(teacher, name, seed)]

    def _teacher(self, data_set: StudyData) -> _Teacher:
        """The model, trained unless that was done; data sets of the same data share it."""
        place = self.folder / file_name(data_set.data)
        plan = data_set.schedule or self.preset.schedule
        done = train(
            data_set.data,
            place / "model",
            model=data_set.model or self.preset.model,
            dev=data_set.sources.get("dev"),
            schedule=replace(plan, seed=self.preset.seeds[0], bf16=plan.bf16 and bool(bf16_instructions())),
            settings=data_set.settings,
            watch=self.watch.within(f"{data_set.name}, the model"),
        )
        named = {split: data_set.sources.get(split) or in_split(data_set.data, split) for split in ("dev", "test")}
        pool = load(data_set.sources[POOL])
        count = data_set.documents.get(STUDENTS, len(pool))
        accuracy = done.test.get("accuracy", done.test.get("pearson", float("nan")))
        some = replace(pool, examples=pool.examples[:count])
        return _Teacher(data_set, place, place / "model", accuracy, some, load(named["dev"]), load(named["test"]))

    def _run(self, teacher: _Teacher, name: str, seed: int) -> SeedRun:
        """What students of a seed come to with the explanations of a variant, and how plausible these are."""
        variant, figures = self.study.teaching(name), Figures()
        part = self.watch.within(f"{teacher.data_set.name}, {name}, seed {seed}")
        method = variant.method
        if variant.plan is not None:
            learned = self._learned(teacher, name, variant.plan, seed, part)
            method = learned.out
            figures |= {(OWN, ""): [learned.test or float("nan")], (IN_USE, ""): [float(learned.in_use)]}
        if name == self.study.first:
            figures |= {(BLACK_BOX, ""): [teacher.accuracy], **self._oracles(teacher, seed)}
        judged = [self._simulability(teacher, name, method, seed, part, figures)]
        if method is not None and PLAUSIBLE in teacher.data_set.sources:
            judged += self._plausibility(teacher, name, method, seed, variant)
        data_set = teacher.data_set.name
        return SeedRun(data_set, data_set, name, variant.objectives[0], seed, tuple(judged), figures)

    def _learned(self, teacher: _Teacher, name: str, plan: ScaffoldPlan, seed: int, watch: Watch) -> Taught:
        """The explainer of a variant and a seed, learned unless that was done."""
        shared = {each: getattr(self.preset.students, each) for each in _SHARED}
        shared["beta"] = self.study.teaching(name).beta
        [taught] = scaffold(
            teacher.folder,
            teacher.place / f"{len(teacher.pool)}" / file_name(name) / f"seed-{seed}",
            data=teacher.pool.name,
            dev=teacher.dev.name,
            test=teacher.test.name,
            students=[len(teacher.pool)],
            seeds=[seed],
            plan=replace(plan, **shared),
            watch=watch,
        ).taught
        return taught

    def _simulability(
        self, teacher: _Teacher, name: str, method: str | None, seed: int, watch: Watch, figures: Figures
    ) -> Judged:
        """How well a new student simulates the model, test document by test document."""
        variant, classifier = self.study.teaching(name), teacher.classifier
        metric = Simulability(beta=variant.beta)
        pool, test = teacher.pool.examples, teacher.test.examples
        why: Sequence[Tensor | None] = [None] * len(pool)
        if method is not None:
            why = self._reasons(teacher, name, method, seed, metric, watch)
        half = teacher.dev.examples[1::2]  # the other half is what explainers learn from
        school = School(
            teacher.lessons(pool, why),
            teacher.lessons(half, [None] * len(half)),
            teacher.lessons(test, [None] * len(test)),
        )
        plan = replace(self.preset.students, beta=variant.beta, seed=seed + _APART)
        watch.tell("teaching a new student")
        mine = school.answers(classifier, plan, watch.check)
        if all(example.label is not None for example in test):
            figures[RIGHT, ""] = [agreement(classifier, mine, classifier.gold(test))]
        values = simulability(classifier, mine, teacher.said(test))
        told = _audited("simulability", metric, classifier)
        return Judged(told, NEW, tuple(example.id for example in test), tuple(values.tolist()))

    def _reasons(
        self, teacher: _Teacher, name: str, method: str, seed: int, metric: Simulability, watch: Watch
    ) -> list[Tensor]:
        """The shares of units by a method, for all examples that teach; made once for methods without seeds."""
        own = f"seed-{seed}-" if self.study.teaching(name).plan else ""
        path = teacher.place / "explained" / f"{len(teacher.pool)}-{own}{file_name(name)}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        explain_to_file(teacher.folder, teacher.pool, method, path, watch=watch)
        found = {each.example_id: metric.shares_of(each) for each in read(path)}
        return [found[example.id] for example in teacher.pool]

    def _plausibility(
        self, teacher: _Teacher, name: str, method: str, seed: int, variant: TeachingVariant
    ) -> Sequence[Judged]:
        """How well a method agrees with what people marked."""
        own = f"seed-{seed}" if variant.plan else "audit"
        out = teacher.place / "plausibility" / f"{len(teacher.pool)}-{file_name(name)}" / own
        examples = load(teacher.data_set.sources[PLAUSIBLE])
        part = self.watch.within(f"{teacher.data_set.name}, {name}, plausibility")
        found = audit_folder(teacher.folder, examples, [method], self.preset.judged, out, part)
        return [replace(each, method=NEW) for each in judged_in(found) if each.method != "random"]

    def _oracles(self, teacher: _Teacher, seed: int) -> Figures:
        """The best layer and the best head by what people marked: found by looking at the answers."""
        if PLAUSIBLE not in teacher.data_set.sources or seed != self.preset.seeds[0]:
            return {}
        found = plausible_heads(teacher.classifier, load(teacher.data_set.sources[PLAUSIBLE]).examples)
        best, layers = found.max(), found.view(-1, _heads(teacher.classifier))
        return {("rationale-auc of the best head, by the answers", ""): [float(best)]} | {
            ("rationale-auc of the best layer's heads together, by the answers", ""): [float(layers.mean(1).max())]
        }


_SHARED = ("student", "pooling", "rate", "decay", "clip", "batch_size", "epochs", "patience")
"""What students share, whether an explainer learns from them or not."""


def plausible_heads(classifier: Classifier, examples: Sequence[Example], at_once: int = 16) -> Tensor:
    """The mean area under the ROC curve of each attention head by itself, [J], against what people marked."""
    metric, totals = METRICS.create("rationale-auc"), []
    assert isinstance(metric, Metric)
    explainer = AttentionMixture.of(classifier, classifier.encode(list(examples[:1])).rows)

    def logits(rows: Rows, gradient: Tensor) -> Tensor:
        with torch.no_grad():
            return explainer.sources_of(classifier, rows, gradient).transpose(1, 2)[:, : rows.unit_of.shape[1]]

    for begin in range(0, len(examples), at_once):
        case = Case.bind(classifier, examples[begin : begin + at_once])
        scores = case.to_units(case.rowwise(logits, passes=0), "mean")  # [B, U, J]: only their order counts
        totals.append(torch.stack([measure(metric, case, each * case.live).values for each in scores.unbind(2)]))
    return torch.cat(totals, 1).nanmean(1)


def _heads(classifier: Classifier) -> int:
    """How many heads a layer has."""
    rows = classifier.encode([Example.of("a")]).rows
    return AttentionMixture.of(classifier, rows).heads


def _audited(name: str, metric: Simulability, classifier: Classifier) -> AuditedMetric:
    return audited_metric(name, metric, (), classifier.is_regression)
