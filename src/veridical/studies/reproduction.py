"""Doing a published study again: its models, audits and rationales; everything finished is found again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import ClassVar

from veridical.audits import Audit
from veridical.audits.card import compare_folders
from veridical.core.component import unknown
from veridical.core.extraction import Extraction
from veridical.core.folders import RunRecord
from veridical.core.progress import Watch
from veridical.data import in_split, load
from veridical.data.loader import file_name
from veridical.models.new import start
from veridical.run.folder import RunFolder
from veridical.run.fresh import fresh
from veridical.run.handle import versions
from veridical.run.train import Trained, train
from veridical.studies import STUDIES
from veridical.studies.choice import audit_folder, choose, model_folder
from veridical.studies.results import Results, VariantRuns, results_of, write_tables
from veridical.studies.study import Preset, Study, StudyData, data_of, first
from veridical.training import Schedule

BETWEEN, BEFORE = "likeness between seeds", "likeness before and after training"
"""What REGEX calls DIT and UIT: the overlap of the words on top, of two models and of the same documents."""

_TUNED_BY, _TUNED_WITH = "decision-flip", "attention"
"""The metric and the method that decide between the objectives of a variant, on the dev split."""

_RATIONALES_BY = "attention"
"""The method whose scores cut rationales."""

_CHEAPEST = "post-hoc-accuracy"
"""A metric for audits that are made for their explanations."""


@dataclass(frozen=True)
class _Model:
    """A training of a study; `folder` holds the model and what is found out about it."""

    folder: Path
    seed: int
    trained: Trained


@dataclass(frozen=True)
class StudyRuns:
    """The trainings and audits of a study in one of its sizes, in a folder."""

    study: Study
    preset: Preset
    folder: Path
    watch: Watch

    def on(self, data_set: StudyData) -> Iterator[VariantRuns]:
        """Everything that is measured of the models that are trained on a data set."""
        data = data_of(data_set, self.folder / data_set.name / "data")
        places = {data_set.name: first(data, "test", data_set.audited), **data_set.elsewhere}
        for variant in self._variants(data_set):
            objective = self._tuned(data_set, data, variant)
            models = [self._train(data_set, data, variant, objective, seed) for seed in self.preset.seeds]
            for place, examples in places.items():
                audits = tuple(self._audit(model.folder, place, examples) for model in models)
                figures = self._likeness(data_set, data, models, place, examples)
                if place == data_set.name:
                    figures |= self._of_models(data_set, models)
                yield VariantRuns(data_set.name, place, variant, objective, audits, figures)
            if self.study.attack:
                examples = first(data, "test", data_set.attacked)
                attacked = tuple(
                    self._audit(model.folder, "attack", examples, "random", self.study.attack) for model in models
                )
                yield VariantRuns(data_set.name, data_set.name, variant, objective, attacked)

    def _variants(self, data_set: StudyData) -> list[str]:
        """The variants of a data set: controls are for classifiers that are trained on rationales."""
        return [each for each in self.study.variants if data_set.ratio is not None or each not in self.study.follows]

    def _tuned(self, data_set: StudyData, data: str, variant: str) -> str:
        """The objective of a variant: the only one, or the one that does best on the dev split with the first seed."""
        candidates = self.study.variants[variant]
        if variant in self.study.follows:
            leader = self.study.follows[variant]
            return candidates[self.study.variants[leader].index(self._tuned(data_set, data, leader))]
        if len(candidates) == 1:
            return candidates[0]
        found = choose(
            data,
            self.folder / data_set.name / variant,
            candidates,
            method=_TUNED_WITH,
            metric=_TUNED_BY,
            documents=self.preset.tune_on,
            lose=None,
            seeds=self.preset.seeds[:1],
            schedule=self._schedule(data_set, self.preset.seeds[0]),
            model=self.preset.model,
            settings=data_set.settings,
            watch=self.watch.within(f"tuning {variant} on {data_set.name}"),
        )
        return candidates[found.candidates.index(found.best)]

    def _train(self, data_set: StudyData, data: str, variant: str, objective: str, seed: int) -> _Model:
        """Train a model unless that was done."""
        folder = self.folder / data_set.name / variant
        model = folder / f"seed-{seed}" / "model"
        if len(self.study.variants[variant]) > 1:
            model = model_folder(folder, objective, seed)
        done = train(
            data,
            model,
            model=self.preset.model,
            objective=objective,
            schedule=self._schedule(data_set, seed),
            settings=data_set.settings,
            watch=self.watch.within(f"{data_set.name}, {objective}, seed {seed}"),
        )
        return _Model(model.parent, seed, done)

    def _schedule(self, data_set: StudyData, seed: int) -> Schedule:
        return replace(data_set.schedule or self.preset.schedule, metric=self.study.best_by, seed=seed)

    def _audit(self, folder: Path, place: str, data: str, methods: str = "", metrics: str = "") -> Audit:
        """Audit the model of a folder, by default with the methods and metrics of the study."""
        methods, metrics = methods or self.study.methods, metrics or self.study.metrics
        part = self.watch.within(f"{folder.parent.name}/{folder.name} on {place}")
        return audit_folder(folder / "model", load(data), methods, metrics, _audit_folder(folder, place), part)

    def _likeness(
        self, data_set: StudyData, data: str, models: Sequence[_Model], place: str, examples: str
    ) -> dict[tuple[str, str], list[float]]:
        """How alike explanations are of models that differ in their seed only, and before and after training."""
        method = self.study.likeness_method
        if method is None:
            return {}
        found = [_audit_folder(model.folder, place) for model in models]
        untrained = [self._untrained(data_set, data, seed) for seed in self.preset.seeds]
        for each in untrained:
            self._audit(each, place, examples, method, _CHEAPEST)
        before = [_audit_folder(each, place) for each in untrained]
        pairs = {BETWEEN: combinations(found, 2), BEFORE: zip(before, found, strict=True)}
        return {
            (name, method): [compare_folders(*pair).likeness[method] for pair in these] for name, these in pairs.items()
        }

    def _untrained(self, data_set: StudyData, data: str, seed: int) -> Path:
        """A model as training begins with it: the pretrained encoder, and a head drawn at random."""
        folder = self.folder / data_set.name / "untrained" / f"seed-{seed}"
        if not (folder / "model").exists():
            examples = load(in_split(data, "train"))
            unfinished = folder / "model.tmp"
            start(self.preset.model, examples, examples.labels, seed, **data_set.settings).save(unfinished)
            unfinished.rename(folder / "model")
        return folder

    def _of_models(self, data_set: StudyData, models: Sequence[_Model]) -> dict[tuple[str, str], list[float]]:
        """How good the models are, and those that see nothing but rationales."""
        found = {("test macro_f1", ""): [model.trained.test["macro_f1"] for model in models]}
        if data_set.ratio is not None:
            figures = [self._fresh(data_set, data_set.ratio, model) for model in models]
            found["fresh macro_f1", _RATIONALES_BY] = [each["macro_f1"] for each in figures]
        return found

    def _fresh(self, data_set: StudyData, ratio: float, model: _Model) -> Mapping[str, float]:
        done = fresh(
            model.folder / "model",
            model.folder / "fresh",
            Extraction(_RATIONALES_BY, ratio),
            seeds=(model.seed,),
            schedule=self._schedule(data_set, model.seed),
            watch=self.watch.within(f"rationales of {data_set.name}, {model.folder.parent.name}, seed {model.seed}"),
        )
        return done.trained[0].test


def _audit_folder(folder: Path, place: str) -> Path:
    return folder / f"audit-{file_name(place)}"


@dataclass(frozen=True, kw_only=True)
class StudyRecord(RunRecord):
    """Which study a folder holds, and in which size."""

    job: ClassVar[str] = "reproduce"

    study: str
    size: str


def reproduce(
    study: Study | str,
    size: str,
    out: str | PathLike[str],
    *,
    tables: str | PathLike[str] | None = None,
    watch: Watch | None = None,
) -> Results:
    """Do a study in one of its sizes, into `out/DATA/VARIANT/seed-N`, and write its tables to a folder.

    Everything finished is kept, and the same call goes on from there. The tables, `STUDY-SIZE.md` and
    `STUDY-SIZE.json`, are written after each data set; by default to `out`.
    """
    study = _study(study)
    if size not in study.presets:
        raise unknown(f"size of {study.name}", size, study.presets)
    run = RunFolder(out)
    record = StudyRecord(study=study.name, size=size, versions=versions())
    doing = StudyRuns(study, study.presets[size], run.path, watch or Watch())
    runs: list[VariantRuns] = []
    with run.held(record):
        for data_set in study.presets[size].data_sets:
            runs += doing.on(data_set)
            found = results_of(study, size, runs)
            write_tables(found, run.path if tables is None else tables)
        run.write(replace(record, done=True))
    return found


def _study(study: Study | str) -> Study:
    if isinstance(study, Study):
        return study
    if study not in STUDIES:
        raise unknown("paper", study, STUDIES)
    return STUDIES[study]
