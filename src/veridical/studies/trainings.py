"""The trainings of a study, and all that is measured of their models; everything finished is found again."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from veridical.audits import Audit
from veridical.audits.card import compare_folders
from veridical.audits.record import FLOOR
from veridical.audits.store import EXPLANATIONS
from veridical.core.extraction import Extraction
from veridical.core.files import read
from veridical.core.progress import Watch
from veridical.core.values import Explanation
from veridical.data import in_split, load
from veridical.data.loader import file_name
from veridical.masking.engine import bf16_instructions
from veridical.models.new import start
from veridical.run.fresh import fresh
from veridical.run.train import Trained, train
from veridical.studies.choice import audit_folder, choose, model_folder
from veridical.studies.confidence import as_sure
from veridical.studies.results import as_sure_as
from veridical.studies.runs import Figures, Judged, SeedRun, judged_in, relabelled
from veridical.studies.study import Look, Preset, Study, StudyData, data_of, first
from veridical.training import Schedule

BETWEEN, BEFORE = "likeness between seeds", "likeness before and after training"
"""What REGEX calls DIT and UIT: the overlap of the words on top, of two models and of the same documents."""

_TUNED_BY, _TUNED_WITH = "decision-flip", "attention"
"""The metric and the method that decide between the objectives of a variant, on the dev split."""

_RATIONALES_BY = "attention"
"""The method whose scores cut rationales."""

CONFIDENCE, TEMPERATURE = "confidence", "temperature"
"""The mean probability of the predicted class, and what logits are divided by to change it."""

_THROUGH = "masked_accuracy"
"""The figure of a model that reads texts through its mask layer."""

_FRESH = "fresh"
"""The folder of the classifier that reads a model's rationales, and what looks call it by."""

_SHOWN = 20
"""How many examples are shown side by side."""

_CHEAPEST = "post-hoc-accuracy"
"""A metric for audits that are made for their explanations."""


@dataclass(frozen=True)
class _Model:
    """A training of a study; `folder` holds the model and what is found out about it."""

    folder: Path
    variant: str
    objective: str
    seed: int
    trained: Trained


@dataclass(frozen=True)
class StudyRuns:
    """The trainings and audits of a study in one of its sizes, in a folder; `known` are runs of an earlier time."""

    study: Study
    preset: Preset
    folder: Path
    watch: Watch
    known: Sequence[SeedRun] = ()

    def on(self, data_set: StudyData) -> Iterator[Sequence[SeedRun]]:
        """Everything that is measured of the models that are trained on a data set, model by model.

        All variants of a seed come before the next seed, so that a study that is stopped can compare what it has.
        """
        data = data_of(data_set, self.folder / data_set.name / "data")
        objectives, done = self._known_objectives(data_set), defaultdict[str, list[_Model]](list)
        for seed in self.preset.seeds:
            kept = self._kept(data_set, seed)
            for variant in self.study.variants_on(data_set):
                if variant in kept:
                    yield kept[variant]
                    continue
                if variant not in objectives:
                    objectives[variant] = self._tuned(data_set, data, variant)
                begins = self._begins(data_set, variant, done)
                done[variant].append(self._train(data_set, data, variant, objectives[variant], seed, begins))
                yield list(self._looked_at(data_set, data, variant, done))

    def _kept(self, data_set: StudyData, seed: int) -> Mapping[str, Sequence[SeedRun]]:
        """The numbers of a seed that were measured elsewhere, by variant; without those whose models are needed again.

        Where a model is here, everything is found again in its folder, with what needs its explanations.
        """
        variants = self.study.variants_on(data_set)
        # A model that was made as sure as that of a variant is measured with it, under a name of its own.
        owner = {as_sure_as(base, name): name for name in variants for base in self.study.bases_of(name)[:1]}
        found = defaultdict[str, list[SeedRun]](list)
        for run in self.known:
            if (run.data_set, run.seed) == (data_set.name, seed):
                found[owner.get(run.variant, run.variant)].append(run)
        missing = [each for each in variants if not found[each]]
        again = {needed for each in missing for needed in self.study.needed_by(each)}
        place = self.folder / data_set.name
        again |= {each for each in variants if any((place / each).glob(f"**/seed-{seed}/model/run.json"))}
        return {variant: runs for variant, runs in found.items() if runs and variant not in again}

    def _known_objectives(self, data_set: StudyData) -> dict[str, str]:
        """What variants were tuned to before."""
        return {run.variant: run.objective for run in self.known if run.data_set == data_set.name}

    def _looked_at(
        self, data_set: StudyData, data: str, variant: str, done: Mapping[str, Sequence[_Model]]
    ) -> Iterator[SeedRun]:
        """What is measured of the last model of a variant, in every way and every place."""
        *earlier, model = done[variant]
        run = SeedRun(data_set.name, data_set.name, variant, model.objective, model.seed)
        main, *others = self.study.looks
        places = {data_set.name: first(data, "test", data_set.documents.get(main)), **data_set.elsewhere}
        for name, examples in places.items():
            found = self._audit(model.folder, name, examples, self.study.looks[main])
            figures = {(CONFIDENCE, ""): [_confidence(found)]}
            figures |= self._likeness(data_set, data, model, earlier, name, examples)
            figures |= self._of_model(data_set, model) if name == data_set.name else {}
            yield replace(run, place=name, judged=judged_in(found), figures=figures)
            for base in self._to_match(variant, model.seed, done):
                yield self._as_sure(replace(run, place=name), examples, model, base, _confidence(found))
        for look in others:
            examples = first(data, "test", data_set.documents.get(look))
            yield from (replace(run, judged=each) for each in self._look(look, examples, model, done))

    def _look(
        self, look: str, examples: str, model: _Model, done: Mapping[str, Sequence[_Model]]
    ) -> Iterator[tuple[Judged, ...]]:
        """What another look than the main one finds, if this model can be looked at so.

        What differs from model to model, the layer and the folders of other models, is named as in the study, so that
        it is the same method or metric in all of them.
        """
        variant = self.study.variants[model.variant]
        others = [each for models in done.values() for each in models if each.seed == model.seed]
        folders = {each.variant: str(each.folder / "model") for each in others}
        reader = model.folder / _FRESH / "model"
        folders |= {_FRESH: str(reader)} if reader.exists() else {}
        if asked := self.study.looks[look].asked(variant, folders):
            names = {folder: name for name, folder in folders.items()}
            found = self._audit(model.folder, look, examples, asked)
            yield relabelled(judged_in(found), variant.layer, names)

    def _to_match(self, variant: str, seed: int, done: Mapping[str, Sequence[_Model]]) -> list[_Model]:
        """The model that is made as sure as one of a variant and a seed, if any is."""
        bases = self.study.bases_of(variant)[:1] if self.study.variants[variant].matched else ()
        return [model for base in bases for model in done.get(base, ()) if model.seed == seed]

    def _as_sure(self, run: SeedRun, examples: str, model: _Model, base: _Model, wanted: float) -> SeedRun:
        """The model that one is compared with, made as sure of itself, and audited in the same way."""
        folder = model.folder / f"audit-{file_name(run.place)}-as-sure"
        name = as_sure_as(base.variant, run.variant)
        given, look = load(examples), self.study.looks[self.study.main]
        less_sure = as_sure(base.folder / "model", given.examples, wanted)
        part = self.watch.within(f"{name}, seed {run.seed} on {run.place}")
        found = audit_folder(less_sure, given, look.methods, look.metrics, folder, part)
        figures = {(CONFIDENCE, ""): [_confidence(found)], (TEMPERATURE, ""): [less_sure.temperature]}
        return replace(run, variant=name, objective=base.objective, judged=judged_in(found), figures=figures)

    def _tuned(self, data_set: StudyData, data: str, variant: str) -> str:
        """The objective of a variant: the only one, or the one that does best on the dev split with the first seed."""
        asked = self.study.variants[variant]
        candidates = asked.candidates
        if asked.follows:
            leader = self.study.variants[asked.follows].candidates
            return candidates[leader.index(self._tuned(data_set, data, asked.follows))]
        if len(candidates) == 1:
            return candidates[0]
        for count in range(len(asked.objectives), len(candidates) + 1):
            best = self._best_of(candidates[:count], data_set, data, variant)
            if best < count - 1:  # or else the next one, further out, may do still better
                break
        return candidates[best]

    def _best_of(self, candidates: Sequence[str], data_set: StudyData, data: str, variant: str) -> int:
        """The place of the objective that does best; those of an earlier look are not trained again."""
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
            model=data_set.model or self.preset.model,
            settings=self._settings(data_set, variant),
            watch=self.watch.within(f"tuning {variant} on {data_set.name}"),
        )
        return found.candidates.index(found.best)

    def _begins(self, data_set: StudyData, variant: str, done: Mapping[str, Sequence[_Model]]) -> str:
        """The model that a training begins with; one of the study is the last, which has the same seed."""
        earlier = self.study.variants[variant].after
        return str(done[earlier][-1].folder / "model") if earlier else data_set.model or self.preset.model

    def _train(self, data_set: StudyData, data: str, variant: str, objective: str, seed: int, begins: str) -> _Model:
        """Train a model unless that was done."""
        model = self._model_folder(data_set, variant, objective, seed)
        done = train(
            data,
            model,
            model=begins,
            objective=objective,
            schedule=self._schedule(data_set, seed),
            settings=self._settings(data_set, variant),
            watch=self.watch.within(f"{data_set.name}, {variant}, {objective}, seed {seed}"),
        )
        return _Model(model.parent, variant, objective, seed, done)

    def _model_folder(self, data_set: StudyData, variant: str, objective: str, seed: int) -> Path:
        folder = self.folder / data_set.name / variant
        if len(self.study.variants[variant].objectives) > 1:
            return model_folder(folder, objective, seed)
        return folder / f"seed-{seed}" / "model"

    def examples(self, data_set: StudyData, objectives: Mapping[str, str]) -> Iterator[Explanation]:
        """The first explanations by each layer, and beside them those of the first variant, which has none.

        They are of the first seed, and their models are called as in the study. None where its models are not here.
        """
        looks = [(self.study.first, data_set.name)]
        of_layers = [name for name, asked in self.study.looks.items() if asked.is_of_layers]
        looks += [(name, look) for look in of_layers[:1] for name in objectives]  # others have the same explanations
        for variant, look in looks:
            model = self._model_folder(data_set, variant, objectives[variant], self.preset.seeds[0])
            path = _audit_folder(model.parent, look) / EXPLANATIONS
            if path.exists():
                for explanation in islice((each for each in read(path) if each.source != FLOOR), _SHOWN):
                    yield replace(explanation, spec=_of_variant(explanation.spec, variant))

    def _settings(self, data_set: StudyData, variant: str) -> Mapping[str, Any]:
        return {**data_set.settings, **self.study.variants[variant].settings}

    def _schedule(self, data_set: StudyData, seed: int) -> Schedule:
        plan = data_set.schedule or self.preset.schedule
        bf16 = plan.bf16 and bool(bf16_instructions())  # elsewhere it is many times as slow
        return replace(plan, metric=self.study.best_by, seed=seed, bf16=bf16)

    def _audit(self, folder: Path, place: str, data: str, look: Look) -> Audit:
        """Audit the model of a folder; the place, or the name of the look, is what the audit's folder is called by."""
        part = self.watch.within(f"{folder.parent.name}/{folder.name} on {place}")
        out = _audit_folder(folder, place)
        return audit_folder(folder / "model", load(data), look.methods, look.metrics, out, part)

    def _likeness(
        self, data_set: StudyData, data: str, model: _Model, earlier: Sequence[_Model], place: str, examples: str
    ) -> Figures:
        """How alike explanations are to those of models that differ in their seed only, and of an untrained one."""
        method = self.study.likeness_method
        if method is None:
            return {}
        untrained = self._untrained(data_set, data, model.variant, model.seed)
        self._audit(untrained, place, examples, Look(method, _CHEAPEST))
        others = {BETWEEN: [each.folder for each in earlier], BEFORE: [untrained]}
        mine = _audit_folder(model.folder, place)
        return {
            (name, method): [compare_folders(_audit_folder(each, place), mine).likeness[method] for each in folders]
            for name, folders in others.items()
        }

    def _untrained(self, data_set: StudyData, data: str, variant: str, seed: int) -> Path:
        """A model as training begins with it: the pretrained encoder, and a head drawn at random."""
        own = f"-{variant}" if self.study.variants[variant].settings else ""
        folder = self.folder / data_set.name / f"untrained{own}" / f"seed-{seed}"
        if not (folder / "model").exists():
            examples = load(in_split(data, "train"))
            unfinished = folder / "model.tmp"
            model, settings = data_set.model or self.preset.model, self._settings(data_set, variant)
            start(model, examples, examples.labels, seed, **settings).save(unfinished)
            unfinished.rename(folder / "model")
        return folder

    def _of_model(self, data_set: StudyData, model: _Model) -> Figures:
        """How good a model is, and one that sees nothing but its rationales."""
        shown = ("macro_f1", _THROUGH)
        found = {(f"test {name}", ""): [model.trained.test[name]] for name in shown if name in model.trained.test}
        if data_set.ratio is not None:
            found["fresh macro_f1", _RATIONALES_BY] = [self._fresh(data_set, data_set.ratio, model)["macro_f1"]]
        return found

    def _fresh(self, data_set: StudyData, ratio: float, model: _Model) -> Mapping[str, float]:
        done = fresh(
            model.folder / "model",
            model.folder / _FRESH,
            Extraction(_RATIONALES_BY, ratio),
            seeds=(model.seed,),
            schedule=self._schedule(data_set, model.seed),
            watch=self.watch.within(f"rationales of {data_set.name}, {model.folder.parent.name}, seed {model.seed}"),
        )
        return done.trained[0].test


def _confidence(found: Audit) -> float:
    """The mean probability of the predicted class."""
    return statistics.fmean(document.probability for document in found.documents)


def _audit_folder(folder: Path, place: str) -> Path:
    return folder / f"audit-{file_name(place)}"


def _of_variant(spec: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """The spec of an explanation, with the name of a variant for its model."""
    return {**spec, "model": {**spec["model"], "name": variant}}
