"""Doing a study again: everything that it trains and measures, and its tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import ClassVar

from veridical.core.component import unknown
from veridical.core.folders import RunRecord
from veridical.core.progress import Watch
from veridical.run.folder import RunFolder
from veridical.run.handle import versions
from veridical.studies import STUDIES
from veridical.studies.results import Results, VariantRuns, results_of
from veridical.studies.study import Study
from veridical.studies.study_runs import StudyRuns
from veridical.studies.tables import write_tables


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
