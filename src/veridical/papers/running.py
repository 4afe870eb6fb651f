"""Doing a study: train, audit, cut rationales. Everything finished is kept, and the same call goes on from there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from transformers import TrainerCallback

from veridical.core.registry import unknown
from veridical.data import in_split, load
from veridical.data.name import file_name
from veridical.models import Classifier
from veridical.models.loading import RECORD
from veridical.papers.results import Results, Runs, results_of
from veridical.papers.study import Preset, Site, Study
from veridical.report.audit import Audit
from veridical.report.audit.publishing import compare_folders, publish
from veridical.run.auditing import audit
from veridical.run.extracting import Extraction
from veridical.run.fresh import fresh
from veridical.run.training import train
from veridical.training import Schedule

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def reproduce(
    study: Study,
    size: str,
    out: Path,
    *,
    progress: Progress = lambda _what, _done, _total: None,
    callbacks: Sequence[TrainerCallback] = (),
) -> Results:
    """Do a study in one of its sizes, into `out/site/variant/seed-N`, and put its numbers together."""
    if size not in study.presets:
        raise unknown(f"size of {study.name}", size, study.presets)
    doing = _Doing(study, study.presets[size], out, progress, callbacks)
    return results_of(study, size, list(doing.runs()))


@dataclass(frozen=True)
class _Doing:
    study: Study
    preset: Preset
    folder: Path
    progress: Progress
    callbacks: Sequence[TrainerCallback]

    def runs(self) -> Iterator[Runs]:
        for site in self.preset.sites:
            for variant in self.study.variants:
                objective = self._tuned(site, variant)
                models = [self._train(site, variant, objective, seed) for seed in self.preset.seeds]
                for place, data in {site.name: site.test, **site.elsewhere}.items():
                    audits = tuple(self._audit(model, place, data) for model in models)
                    figures = self._likeness(models, place) | (self._of_models(site, variant, models, place))
                    yield Runs(site.name, place, variant, objective, audits, figures)

    def _tuned(self, site: Site, variant: str) -> str:
        """The objective of a variant: the only one, or the one that does best on the dev split with the first seed."""
        candidates = self.study.variants[variant]
        if len(candidates) == 1:
            return candidates[0]
        return min(candidates, key=lambda objective: self._badness(site, variant, objective))

    def _badness(self, site: Site, variant: str, objective: str) -> float:
        model = self._train(site, variant, objective, self.preset.seeds[0])
        data = f"{in_split(site.train, 'dev')}[:{self.preset.tune_on}]"
        found = self._audit(model, "dev", data, self.study.tune_with, self.study.tune_by)
        judge = found.metrics[0]
        mean = float(np.nanmean(found.values(judge.name, self.study.tune_with)))
        return -mean if judge.greater_is_better else mean

    def _train(self, site: Site, variant: str, objective: str, seed: int) -> Path:
        name = variant if len(self.study.variants[variant]) == 1 else f"{variant}-{file_name(objective)}"
        folder = self.folder / site.name / name / f"seed-{seed}"
        self.progress(f"training on {site.name}: {objective}, seed {seed}", 0, 1)
        train(
            site.train,
            folder / "model",
            model=self.preset.model,
            objective=objective,
            schedule=self._schedule(seed),
            callbacks=self.callbacks,
        )
        return folder

    def _schedule(self, seed: int) -> Schedule:
        preset = self.preset
        return Schedule(epochs=preset.epochs, batch_size=preset.batch_size, checks=preset.checks, seed=seed)

    def _audit(self, model: Path, place: str, data: str, methods: str = "", metrics: str = "") -> Audit:
        out, told = _audit_folder(model, place), f"{model.parent.name}/{model.name} on {place}"
        found = audit(
            Classifier.load(model / "model"),
            load(data),
            methods or self.study.methods,
            metrics or self.study.metrics,
            out=out,
            timed=0,
            progress=lambda what, done, total: self.progress(f"{told}: {what}", done, total),
        )
        publish(out)
        return found

    def _likeness(self, models: Sequence[Path], place: str) -> dict[tuple[str, str], list[float]]:
        """How alike explanations are of models that differ in their seed only, for each pair of them."""
        method = self.study.alike
        if method is None:
            return {}
        pairs = combinations([_audit_folder(model, place) for model in models], 2)
        return {("likeness between seeds", method): [compare_folders(*pair).likeness[method] for pair in pairs]}

    def _of_models(
        self, site: Site, variant: str, models: Sequence[Path], place: str
    ) -> dict[tuple[str, str], list[float]]:
        """How good the models are, and those that see nothing but rationales; for the data they were trained on."""
        if place != site.name:
            return {}
        records = [json.loads((model / "model" / RECORD).read_text())["test"] for model in models]
        found = {("test macro_f1", ""): [record["macro_f1"] for record in records]}
        if variant in self.study.fresh:
            figures = [self._fresh(site, model, seed) for model, seed in zip(models, self.preset.seeds, strict=True)]
            found["fresh macro_f1", self.study.fresh_with] = [each["macro_f1"] for each in figures]
        return found

    def _fresh(self, site: Site, model: Path, seed: int) -> Mapping[str, float]:
        self.progress(f"rationales of {site.name}, {model.parent.name}, seed {seed}", 0, 1)
        done = fresh(
            model / "model",
            model / "fresh",
            Extraction(self.study.fresh_with, site.ratio),
            seeds=(seed,),
            schedule=self._schedule(seed),
            callbacks=self.callbacks,
        )
        return done.trained[0].test


def _audit_folder(model: Path, place: str) -> Path:
    return model / f"audit-{file_name(place)}"
