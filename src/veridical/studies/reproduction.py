"""Doing a study: train, audit, cut rationales. Everything finished is kept, and the same call goes on from there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from transformers import TrainerCallback

from veridical.audits import Audit
from veridical.audits.publication import compare_folders
from veridical.core.component import unknown
from veridical.core.progress import Progress
from veridical.data import in_split, load
from veridical.data.name import file_name
from veridical.models.loader import RUN_FILE
from veridical.models.new import start
from veridical.run.fresh import fresh
from veridical.run.rationales import Extraction
from veridical.run.train import train
from veridical.studies.choice import audit_folder, choose, model_folder
from veridical.studies.results import Results, VariantRuns, results_of
from veridical.studies.samples import data_of, first
from veridical.studies.study import Preset, Study, StudyData
from veridical.training import Schedule

BETWEEN, BEFORE = "likeness between seeds", "likeness before and after training"
"""What REGEX calls DIT and UIT: the overlap of the words on top, of two models and of the same documents."""

_CHEAPEST = "post-hoc-accuracy"
"""A metric for audits that are made for their explanations."""


def reproduce(
    study: Study,
    size: str,
    out: Path,
    *,
    progress: Progress = lambda _what, _done, _total: None,
    finished: Callable[[Results], None] = lambda _results: None,
    callbacks: Sequence[TrainerCallback] = (),
) -> Results:
    """Do a study in one of its sizes, into `out/site/variant/seed-N`, and put its numbers together.

    `finished` is called after each site with the numbers so far.
    """
    if size not in study.presets:
        raise unknown(f"size of {study.name}", size, study.presets)
    doing = _Reproduction(study, study.presets[size], out, progress, callbacks)
    runs: list[VariantRuns] = []
    for site in doing.preset.sites:
        runs += doing.runs(site)
        finished(results_of(study, size, runs))
    return results_of(study, size, runs)


@dataclass(frozen=True)
class _Reproduction:
    study: Study
    preset: Preset
    folder: Path
    progress: Progress
    callbacks: Sequence[TrainerCallback]

    def runs(self, site: StudyData) -> Iterator[VariantRuns]:
        """Everything that is measured of the models of a site."""
        data = data_of(site, self.folder / site.name / "data")
        places = {site.name: first(data, "test", site.audited), **site.elsewhere}
        for variant in self._variants(site):
            objective = self._tuned(site, data, variant)
            models = [self._train(site, data, variant, objective, seed) for seed in self.preset.seeds]
            for place, examples in places.items():
                audits = tuple(self._audit(model, place, examples) for model in models)
                figures = self._likeness(site, data, models, place, examples)
                if place == site.name:
                    figures |= self._of_models(site, models)
                yield VariantRuns(site.name, place, variant, objective, audits, figures)
            if self.study.attack:
                examples = first(data, "test", site.attacked)
                attacked = tuple(
                    self._audit(model, "attack", examples, "random", self.study.attack) for model in models
                )
                yield VariantRuns(site.name, site.name, variant, objective, attacked)

    def _variants(self, site: StudyData) -> list[str]:
        """The variants of a site: controls are for classifiers that are trained on rationales."""
        return [each for each in self.study.variants if site.ratio is not None or each not in self.study.follows]

    def _tuned(self, site: StudyData, data: str, variant: str) -> str:
        """The objective of a variant: the only one, or the one that does best on the dev split with the first seed."""
        candidates = self.study.variants[variant]
        if variant in self.study.follows:
            leader = self.study.follows[variant]
            return candidates[self.study.variants[leader].index(self._tuned(site, data, leader))]
        if len(candidates) == 1:
            return candidates[0]
        found = choose(
            data,
            self.folder / site.name / variant,
            candidates,
            method=self.study.tune_with,
            metric=self.study.tune_by,
            documents=self.preset.tune_on,
            lose=None,
            seeds=self.preset.seeds[:1],
            schedule=self._schedule(site, self.preset.seeds[0]),
            model=self.preset.model,
            settings=dict(site.settings),
            callbacks=self.callbacks,
            progress=self.progress,
        )
        return candidates[found.candidates.index(found.best)]

    def _train(self, site: StudyData, data: str, variant: str, objective: str, seed: int) -> Path:
        """Train a model unless that was done; the folder that it is in, and what is found out about it."""
        folder = self.folder / site.name / variant
        model = folder / f"seed-{seed}" / "model"
        if len(self.study.variants[variant]) > 1:
            model = model_folder(folder, objective, seed)
        self.progress(f"training on {site.name}: {objective}, seed {seed}", 0, 1)
        train(
            data,
            model,
            model=self.preset.model,
            objective=objective,
            schedule=self._schedule(site, seed),
            settings=dict(site.settings),
            callbacks=self.callbacks,
        )
        return model.parent

    def _schedule(self, site: StudyData, seed: int) -> Schedule:
        return replace(site.schedule or self.preset.schedule, metric=self.study.best_by, seed=seed)

    def _audit(self, model: Path, place: str, data: str, methods: str = "", metrics: str = "") -> Audit:
        told = f"{model.parent.name}/{model.name} on {place}"
        methods, metrics = methods or self.study.methods, metrics or self.study.metrics
        goal = _audit_folder(model, place)
        return audit_folder(model / "model", load(data), methods, metrics, goal, told, self.progress)

    def _likeness(
        self, site: StudyData, data: str, models: Sequence[Path], place: str, examples: str
    ) -> dict[tuple[str, str], list[float]]:
        """How alike explanations are of models that differ in their seed only, and before and after training."""
        method = self.study.likeness_method
        if method is None:
            return {}
        found = [_audit_folder(model, place) for model in models]
        untrained = [self._untrained(site, data, seed) for seed in self.preset.seeds]
        for each in untrained:
            self._audit(each, place, examples, method, _CHEAPEST)
        before = [_audit_folder(each, place) for each in untrained]
        pairs = {BETWEEN: combinations(found, 2), BEFORE: zip(before, found, strict=True)}
        return {
            (name, method): [compare_folders(*pair).likeness[method] for pair in these] for name, these in pairs.items()
        }

    def _untrained(self, site: StudyData, data: str, seed: int) -> Path:
        """A model as training begins with it: the pretrained encoder, and a head drawn at random."""
        folder = self.folder / site.name / "untrained" / f"seed-{seed}"
        if not (folder / "model").exists():
            examples = load(in_split(data, "train"))
            unfinished = folder / "model.tmp"
            start(self.preset.model, examples, examples.labels, seed, **site.settings).save(unfinished)
            unfinished.rename(folder / "model")
        return folder

    def _of_models(self, site: StudyData, models: Sequence[Path]) -> dict[tuple[str, str], list[float]]:
        """How good the models are, and those that see nothing but rationales."""
        records = [json.loads((model / "model" / RUN_FILE).read_text())["test"] for model in models]
        found = {("test macro_f1", ""): [record["macro_f1"] for record in records]}
        if site.ratio is not None:
            figures = [
                self._fresh(site, site.ratio, model, seed)
                for model, seed in zip(models, self.preset.seeds, strict=True)
            ]
            found["fresh macro_f1", self.study.fresh_with] = [each["macro_f1"] for each in figures]
        return found

    def _fresh(self, site: StudyData, ratio: float, model: Path, seed: int) -> Mapping[str, float]:
        self.progress(f"rationales of {site.name}, {model.parent.name}, seed {seed}", 0, 1)
        done = fresh(
            model / "model",
            model / "fresh",
            Extraction(self.study.fresh_with, ratio),
            seeds=(seed,),
            schedule=self._schedule(site, seed),
            callbacks=self.callbacks,
        )
        return done.trained[0].test


def _audit_folder(model: Path, place: str) -> Path:
    return model / f"audit-{file_name(place)}"
