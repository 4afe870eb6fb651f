"""Doing a published study again: its tables are written after each training, and it goes on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from veridical.core.component import unknown
from veridical.core.folders import RunRecord
from veridical.core.progress import Watch
from veridical.data.loader import file_name
from veridical.report import write_page
from veridical.run.folder import RunFolder
from veridical.run.handle import versions
from veridical.studies import STUDIES
from veridical.studies.distillations import DistillationPreset, DistillationRuns, DistillationStudy
from veridical.studies.results import Results, results_of
from veridical.studies.runs import SeedRun, read_runs, write_runs
from veridical.studies.scaffolds import ScaffoldPreset, ScaffoldRuns, ScaffoldStudy
from veridical.studies.study import Preset, Study, StudyData, written_data_set
from veridical.studies.tables import write_tables
from veridical.studies.trainings import StudyRuns

_TOP = 4
"""How many words of an explanation are marked side by side, as in the paper of SCC."""


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
    `STUDY-SIZE.json`, are written after each training, with what there is so far; by default to `out`. Beside them,
    `STUDY-SIZE.parquet` has every number of every document: with it, a study goes on where its models are not, seed by
    seed. Likeness to models that are not there is left out then.
    """
    study = _study(study)
    if size not in study.presets:
        raise unknown(f"size of {study.name}", size, study.presets)
    study = study.in_size(size)
    run = RunFolder(out)
    record = StudyRecord(study=study.name, size=size, versions=versions())
    goal = Path(run.path if tables is None else tables)
    kept, told = goal / f"{study.name}-{size}.parquet", _told(study, size)
    runs: list[SeedRun] = []
    with run.held(record):
        doing = _runs(study, study.presets[size], run.path, watch or Watch(), read_runs(kept, told))
        for data_set in study.presets[size].data_sets:
            for more in doing.on(data_set):
                runs += more
                found = results_of(study, size, runs)
                write_tables(found, goal)
                write_runs(kept, told, [*runs, *_not_reached(doing.known, runs)])
            if isinstance(doing, StudyRuns):
                _write_examples(doing, data_set, found, goal)
        run.write(replace(record, done=True))
    return found


def _runs(
    study: Study, preset: Preset, folder: Path, watch: Watch, known: Sequence[SeedRun]
) -> StudyRuns | DistillationRuns | ScaffoldRuns:
    """What does a study: trainings of models, or of students of one model, that explain it or simulate it."""
    if isinstance(study, DistillationStudy):
        assert isinstance(preset, DistillationPreset)
        return DistillationRuns(study, preset, folder, watch, known)
    if isinstance(study, ScaffoldStudy):
        assert isinstance(preset, ScaffoldPreset)
        return ScaffoldRuns(study, preset, folder, watch, known)
    return StudyRuns(study, preset, folder, watch, known)


def _write_examples(doing: StudyRuns, data_set: StudyData, found: Results, goal: Path) -> None:
    """Write a page of explanations side by side, if the study looks at layers."""
    if any(look.is_of_layers for look in doing.study.looks.values()):
        chosen = {name: found.objectives[data_set.name][name] for name in doing.study.variants_on(data_set)}
        title = f"{found.study}, {data_set.name}: what each layer keeps"
        page = goal / f"{found.study}-{found.size}-{file_name(data_set.name)}.html"
        write_page(doing.examples(data_set, chosen), page, title=title, top=_TOP, side_by_side=True)


def _not_reached(known: Sequence[SeedRun], runs: Sequence[SeedRun]) -> list[SeedRun]:
    """The runs of an earlier time that this study has not come to yet: killed now, it must not lose them."""
    reached = {(run.data_set, run.seed, run.variant) for run in runs}
    return [run for run in known if (run.data_set, run.seed, run.variant) not in reached]


def _told(study: Study, size: str) -> dict[str, Any]:
    """What numbers depend on, in words."""
    preset = study.presets[size]
    data_sets = {each.name: written_data_set(each) for each in preset.data_sets}
    looks = {name: [look.methods, look.metrics] for name, look in study.looks.items()}
    ways = {name: list(variant.candidates) for name, variant in study.variants.items()}
    names = {"study": study.name, "size": size, "setting": preset.setting}
    return {**names, "data_sets": data_sets, "looks": looks, "variants": ways}


def _study(study: Study | str) -> Study:
    if isinstance(study, Study):
        return study
    if study not in STUDIES:
        raise unknown("paper", study, STUDIES)
    return STUDIES[study]
