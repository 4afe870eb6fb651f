"""The students of a study, and all that is measured of them and their teachers; everything finished is found again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from veridical.audits import Audit
from veridical.audits.plan import Methods
from veridical.audits.record import FLOOR
from veridical.audits.statistics.groups import classes
from veridical.audits.store import EXPLANATIONS
from veridical.core.files import ExplanationWriter, read
from veridical.core.progress import Watch
from veridical.core.syntax import parse_one, parse_several
from veridical.core.values import HUMAN, Explanation, gives
from veridical.data import Dataset, in_split, load
from veridical.data.loader import file_name
from veridical.explainers import EXPLAINERS
from veridical.masking.engine import bf16_instructions
from veridical.masking.erasure import HIGH_NEGATIVE, HIGH_POSITIVE, LOW_NEGATIVE, LOW_POSITIVE, given_levels, levels
from veridical.run.distil import distil
from veridical.run.explain import explain_to_file
from veridical.run.predict import predict
from veridical.run.train import train
from veridical.studies.choice import Floats, audit_folder
from veridical.studies.runs import Figures, Judged, SeedRun, judged_in
from veridical.studies.study import Look, Preset, Study, StudyData, Variant, data_of, first
from veridical.training.schedule import Distillation

REFERENCE = "reference"
"""What the number of documents that references explain is called by in a data set."""

BOTH, BLACK_BOX, LEARNED = "same class as the teacher's words", "test accuracy", "dev loss of students"
"""Figures: how often the words of student and teacher alone get the same class, and how good model and student are."""

_AGREEMENT = "prediction-agreement"

_ALL = "all"
"""The folder of a student of all teachers."""


@dataclass(frozen=True)
class StudentVariant(Variant):
    """A student of each teacher, built and taught by a plan; without one it is the teacher itself.

    `looks` are those that judge it. `teacher` explains instead of the one of the preset, `seed` is another one of the
    teacher's draws, and `texts` is how many training texts it explains, where that is not all. A student of `several`
    learns from all teachers at once. With `levels_of` the scores of the teacher are cut to as many words on each level
    as the student of that variant, which comes before it, has named: metrics of levels move with the number of words.
    With `by_size` they lose their signs, as a student of rankings knows none.
    """

    matched: bool = False
    plan: Distillation | None = None
    looks: tuple[str, ...] = ()
    teacher: str | None = None
    seed: int | None = None
    texts: int | None = None
    several: bool = False
    levels_of: str | None = None
    by_size: bool = False


@dataclass(frozen=True)
class DistillationPreset(Preset):
    """A size of a study of students: what is explained, and by which teachers, by the names of their lines in tables.

    `references` are methods of the same names with many more samples, for those teachers that have some. `right_only`
    audits nothing but documents that the model decides rightly.
    """

    teachers: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)
    right_only: bool = False

    @property
    def setting(self) -> str:
        teachers = ", ".join(self.teachers.values())
        references = f"; references {', '.join(self.references.values())}" if self.references else ""
        right = "; only documents that the model decides rightly" if self.right_only else ""
        return f"{super().setting}; teachers {teachers}{references}{right}"


@dataclass(frozen=True)
class DistillationStudy(Study):
    """A study of students. All are of one model for each data set; seeds are those of students.

    `variants` are `StudentVariant`s and `presets` are `DistillationPreset`s. In the metrics of a look, `{reference}`
    is the file of the reference, for teachers that have one.
    """

    def student(self, name: str) -> StudentVariant:
        """A variant by its name."""
        found = self.variants[name]
        assert isinstance(found, StudentVariant)
        return found


@dataclass(frozen=True)
class _Box:
    """A black box: the data set, its texts, the folder of the model, its accuracy on test data, and what is audited."""

    data_set: StudyData
    data: str
    model: Path
    accuracy: float
    audited: Dataset

    @property
    def place(self) -> Path:
        """The folder of everything about this model."""
        return self.model.parent


@dataclass(frozen=True)
class _Looked:
    """The audit of a variant and its folder, with the spec of the method that stands in the line of each teacher."""

    audit: Audit
    folder: Path
    specs: Mapping[str, Mapping[str, Any]]
    figures: Figures = field(default_factory=dict)

    def methods(self) -> dict[str, str]:
        """How the audit calls the method of each teacher's line; a method that failed at everything is left out."""
        named = {_key(each.spec["method"]): each.name for each in self.audit.methods}
        return {teacher: named[_key(spec)] for teacher, spec in self.specs.items() if _key(spec) in named}

    def judged(self) -> Iterator[Judged]:
        """All that was found, by the lines of tables: each method is held to the reference of its own teacher only."""
        found = judged_in(self.audit)
        lines = {teacher: [each for each in found if each.method == name] for teacher, name in self.methods().items()}
        lines |= {name: [each for each in found if each.method == name] for name in (FLOOR, HUMAN)}
        for line, mine in lines.items():
            for each in mine:
                reference = each.metric.spec.get("reference")
                if reference is None:
                    yield replace(each, method=line)
                elif Path(reference).stem == file_name(line):
                    metric = replace(each.metric, name=f"{each.metric.kind}(by={each.metric.spec['by']})")
                    yield replace(each, method=line, metric=metric)

    def by_class(self, kinds: Set[str]) -> Figures:
        """The means of metrics of these kinds over the documents of each class."""
        lines = {**self.methods(), FLOOR: FLOOR, HUMAN: HUMAN}
        return {
            (f"{metric.name} of {group.name}", line): [float(np.nanmean(values[group.members]))]
            for metric in self.audit.metrics
            if metric.kind in kinds
            for line, name in lines.items()
            if self.audit.has(metric.name, name)
            for values in [self.audit.values(metric.name, name)]
            for group in classes(self.audit)
            if not np.isnan(values[group.members]).all()
        }

    def explanations(self) -> dict[str, dict[tuple[str, str], Explanation]]:
        """The explanations of each line, by example and target."""
        lines = {_key(spec): line for line, spec in self.specs.items()}
        found: dict[str, dict[tuple[str, str], Explanation]] = {line: {} for line in self.specs}
        for each in read(self.folder / EXPLANATIONS):
            if line := lines.get(_key(each.spec["method"])):
                found[line][each.example_id, each.target] = each
        return found

    def classes(self, metric: str) -> dict[str, Floats]:
        """The class that the words of each line get, document by document."""
        return {line: self.audit.detail("class", metric, name) for line, name in self.methods().items()}


@dataclass(frozen=True)
class DistillationRuns:
    """The students and audits of a study in one of its sizes, in a folder; `known` are runs of an earlier time."""

    study: DistillationStudy
    preset: DistillationPreset
    folder: Path
    watch: Watch
    known: Sequence[SeedRun] = ()

    def on(self, data_set: StudyData) -> Iterator[Sequence[SeedRun]]:
        """Everything that is measured of the students on a data set, variant by variant, seed by seed."""
        box: _Box | None = None
        for seed in self.preset.seeds:
            if kept := self._kept(data_set, seed):
                yield kept
                continue
            box = box or self._box(data_set)
            looked: dict[str, _Looked] = {}
            for name in self.study.variants_on(data_set):
                looked[name] = self._looked_at(box, name, seed, looked)
                run = SeedRun(data_set.name, data_set.name, name, self.study.variants[name].objectives[0], seed)
                yield [
                    replace(run, judged=tuple(looked[name].judged()), figures=self._figures(name, looked[name])),
                    *self._together(looked, name, seed, data_set),
                ]

    def _figures(self, name: str, looked: _Looked) -> Figures:
        """The figures of a variant, and means by class where a look wants them."""
        looks = [self.study.looks[look] for look in self.study.student(name).looks]
        kinds = {term.name for look in looks if look.by_class for term in parse_several(look.metrics)}
        return {**looked.figures, **looked.by_class(kinds)}

    def _together(self, looked: Mapping[str, _Looked], name: str, seed: int, data_set: StudyData) -> Iterator[SeedRun]:
        """How often words of students decide as those of what they are compared with do, once both are known."""
        for student in looked:
            for base in self.study.bases_of(student)[:1]:
                if name in (student, base) and base in looked and self.study.student(student).plan is not None:
                    objective = self.study.variants[student].objectives[0]
                    figures = _same_classes(looked[student], looked[base])
                    yield SeedRun(data_set.name, data_set.name, student, objective, seed, figures=figures)

    def _kept(self, data_set: StudyData, seed: int) -> Sequence[SeedRun]:
        """The numbers of a seed that were measured elsewhere, if all are there and the model is not here."""
        found = [run for run in self.known if (run.data_set, run.seed) == (data_set.name, seed)]
        whole = {run.variant for run in found} >= set(self.study.variants_on(data_set))
        return found if whole and not (self.folder / data_set.name / "model" / "run.json").exists() else ()

    def _box(self, data_set: StudyData) -> _Box:
        """The black box, trained unless that was done."""
        place = self.folder / data_set.name
        data = data_of(data_set, place / "data")
        plan = data_set.schedule or self.preset.schedule
        plan = replace(plan, metric=self.study.best_by, seed=self.preset.seeds[0])
        done = train(
            data,
            place / "model",
            model=data_set.model or self.preset.model,
            schedule=replace(plan, bf16=plan.bf16 and bool(bf16_instructions())),
            settings=data_set.settings,
            watch=self.watch.within(f"{data_set.name}, the model"),
        )
        audited = self._audited(data, place / "model", data_set.documents.get(self.study.main))
        return _Box(data_set, data, place / "model", done.test["accuracy"], audited)

    def _audited(self, data: str, model: Path, count: int | None) -> Dataset:
        """The first test documents, or the first of those that the model decides rightly."""
        if not self.preset.right_only:
            return load(first(data, "test", count))
        whole = load(in_split(data, "test"))
        said = predict(model, whole.examples)
        right = [example for example, each in zip(whole, said, strict=True) if each.labels == (example.label,)]
        return replace(whole, examples=tuple(right[:count]))

    def _looked_at(self, box: _Box, name: str, seed: int, looked: Mapping[str, _Looked]) -> _Looked:
        """The audit of a variant, and what its students reached on dev lessons."""
        variant = self.study.student(name)
        place = box.place / file_name(name)
        if variant.levels_of is not None or variant.by_size:
            specs = {line: {"name": line, "changed": name} for line in self._teachers(variant)}
            out = place / f"seed-{seed}" if variant.levels_of else place
            files = self._changed(box, name, out, specs, looked)
            return _Looked(self._audit(box, name, out / "audit", "", files), out / "audit", specs)
        if variant.plan is None:  # teachers say the same whatever the seed of a student
            methods = self._teachers(variant)
            is_first = name == self.study.first
            figures: Figures = {(BLACK_BOX, ""): [box.accuracy]} if is_first else {}
            people = [HUMAN] if is_first and any(example.evidence for example in box.audited) else []
            found = self._audit(box, name, place / "audit", [*methods.values(), *people])
            return _Looked(found, place / "audit", _specs(methods), figures)
        students = {line: place / file_name(line) / f"seed-{seed}" for line in self._schools(variant)}
        learned: Figures = {
            (LEARNED, line): [self._taught(box, name, line, folder, seed)] for line, folder in students.items()
        }
        out = place / f"seed-{seed}" / "audit"
        found = self._audit(box, name, out, [str(each) for each in students.values()])
        folders = {line: str(students.get(line) or students[_ALL]) for line in self.preset.teachers}
        return _Looked(found, out, _specs(folders), learned)

    def _taught(self, box: _Box, name: str, line: str, folder: Path, seed: int) -> float:
        """Distil a student unless that was done; its loss on dev lessons."""
        variant = self.study.student(name)
        assert variant.plan is not None
        [done] = distil(
            box.model,
            self._schools(variant)[line],
            folder,
            data=first(box.data, "train", variant.texts),
            dev=in_split(box.data, "dev"),
            plan=replace(variant.plan, seed=seed),
            lessons=box.place / ("lessons" if variant.texts is None else f"lessons-{variant.texts}"),
            watch=self.watch.within(f"{box.data_set.name}, {name} of {line}, seed {seed}"),
        )
        return done.dev["loss"]

    def _teachers(self, variant: StudentVariant) -> dict[str, str]:
        """The teachers of a variant by their lines; with another seed, those that have one."""
        found = {name: variant.teacher or told for name, told in self.preset.teachers.items()}
        if variant.seed is None:
            return found
        return {name: _with_seed(told, variant.seed) for name, told in found.items() if name in self.preset.references}

    def _schools(self, variant: StudentVariant) -> dict[str, list[str]]:
        """What the students of a variant learn from, by the names of their folders."""
        teachers = self._teachers(variant)
        return {_ALL: [*teachers.values()]} if variant.several else {name: [told] for name, told in teachers.items()}

    def _audit(self, box: _Box, name: str, out: Path, methods: Methods, files: Sequence[Path] = ()) -> Audit:
        looks = [self.study.looks[look] for look in self.study.student(name).looks]
        metrics = ", ".join(asked for look in looks for asked in self._metrics(box, look))
        part = self.watch.within(f"{box.data_set.name}, {name}")
        return audit_folder(box.model, box.audited, methods, metrics, out, part, files)

    def _metrics(self, box: _Box, look: Look) -> list[str]:
        """The metrics of a look; those by a reference once for each teacher that has one."""
        if "{reference}" not in look.metrics:
            return [look.metrics]
        return [look.metrics.format(reference=self._reference(box, name)) for name in self.preset.references]

    def _reference(self, box: _Box, teacher: str) -> Path:
        """The file of a teacher's reference, made unless that was done."""
        path = box.place / "references" / f"{file_name(teacher)}.parquet"
        examples = box.audited.examples[: box.data_set.documents.get(REFERENCE)]
        part = self.watch.within(f"{box.data_set.name}, the reference of {teacher}")
        path.parent.mkdir(parents=True, exist_ok=True)
        explain_to_file(box.model, examples, self.preset.references[teacher], path, watch=part)
        return path

    def _changed(
        self, box: _Box, name: str, out: Path, specs: Mapping[str, Mapping[str, Any]], looked: Mapping[str, _Looked]
    ) -> list[Path]:
        """Files of the teachers' explanations, without signs or with as many words on each level as students name."""
        other = self.study.student(name).levels_of
        told, named = looked[self.study.first].explanations(), looked[other].explanations() if other else None
        out.mkdir(parents=True, exist_ok=True)
        files = []
        for line, spec in specs.items():
            if named is None:
                made = [replace(each, scores=tuple(map(abs, each.scores))) for each in told[line].values()]
            else:
                made = [as_many(each, named[line][key]) for key, each in told[line].items() if key in named[line]]
            path = out / f"{file_name(line)}.parquet"
            path.unlink(missing_ok=True)
            with ExplanationWriter(path) as writer:
                writer.write([replace(each, source=line, spec={**each.spec, "method": spec}) for each in made])
            files.append(path)
        return files


def as_many(teacher: Explanation, student: Explanation) -> Explanation:
    """A teacher's explanation in levels, with as many words on each as the student names, where it has so many.

    Scores are 2 and 1 for highly and slightly positive words, and -2 and -1 for negative ones.
    """
    scores = np.array(teacher.scores)
    given = torch.tensor(student.scores, dtype=torch.float64)[None]
    is_cut = gives(student.spec) == "levels"
    level = (given_levels(given) if is_cut else levels(given, torch.ones_like(given, dtype=torch.bool)))[0]
    cut = np.zeros(len(scores))
    for sign, high, low in ((1, HIGH_POSITIVE, LOW_POSITIVE), (-1, HIGH_NEGATIVE, LOW_NEGATIVE)):
        order = np.argsort(-sign * scores, kind="stable")
        order = order[sign * scores[order] > 0]
        many, all_of_them = int((level == high).sum()), int(((level == high) | (level == low)).sum())
        cut[order[:all_of_them]] = sign
        cut[order[:many]] = 2 * sign
    return replace(teacher, scores=tuple(cut.tolist()), spec={**teacher.spec, "scores": "levels"}, margins=None)


def _same_classes(mine: _Looked, theirs: _Looked) -> Figures:
    """How often two get the same class from the words they keep, where both have one."""
    shared = {each.name for each in theirs.audit.metrics}
    found: Figures = {}
    for metric in mine.audit.metrics:
        if metric.kind == _AGREEMENT and metric.name in shared:
            ours, others = mine.classes(metric.name), theirs.classes(metric.name)
            for line in (each for each in ours if each in others):
                known = ~(np.isnan(ours[line]) | np.isnan(others[line]))
                if known.any():
                    found[BOTH, line] = [float((ours[line] == others[line])[known].mean())]
    return found


def _with_seed(method: str, seed: int) -> str:
    """The same method with another seed."""
    term = parse_one(method)
    return str(replace(term, options={**term.options, "seed": seed}))


def _specs(methods: Mapping[str, str]) -> dict[str, Mapping[str, Any]]:
    return {line: EXPLAINERS.spec(EXPLAINERS.create(method)) for line, method in methods.items()}


def _key(spec: Mapping[str, Any]) -> str:
    return json.dumps(spec, sort_keys=True, default=list)
