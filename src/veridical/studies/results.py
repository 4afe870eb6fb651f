"""What a study found: lines of numbers, compared with the first variant and with what was published."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veridical.audits import Audit
from veridical.audits.record import FLOOR
from veridical.audits.statistics.findings import Contrast
from veridical.audits.statistics.tables import contrasts
from veridical.studies.decision import Floats, aligned
from veridical.studies.study import Study, written_data_set, written_preset


@dataclass(frozen=True)
class VariantRuns:
    """All seeds of one variant that was trained on a data set and is looked at in a place.

    `figures` are numbers of the models themselves, a list over seeds for each name and method (empty where none has a
    part in it).
    """

    data_set: str
    place: str
    variant: str
    objective: str
    audits: tuple[Audit, ...] = ()
    figures: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)

    def values(self, metric: str, method: str, documents: Sequence[str]) -> Floats:
        """One number per seed and document, [S, D]; NaN where an audit has none."""
        return aligned(self.audits, metric, method, documents)

    @property
    def documents(self) -> list[str]:
        """The documents of the first audit."""
        return [document.id for document in self.audits[0].documents]


@dataclass(frozen=True)
class Line:
    """A number for one variant: the mean over seeds (of the means over documents), and its spread over seeds.

    `contrast` is the first variant minus this one, paired by document after averaging over seeds; none for the random
    floor, which is there to be compared with. `published` is what the paper says of the same, with its own model and
    data.
    """

    data_set: str
    place: str
    variant: str
    metric: str
    method: str
    mean: float
    std: float
    seeds: int
    greater_is_better: bool | None = None
    contrast: Contrast | None = None
    published: float | None = None


@dataclass(frozen=True)
class Results:
    """All lines of a study in one size, and what each variant was trained with, after tuning, on each data set.

    `setting` says in words what all data sets share: model, seeds and lengths of training. `data_sets` says of each how
    much of which data it is.
    """

    study: str
    title: str
    size: str
    setting: str
    data_sets: Mapping[str, str]
    lines: tuple[Line, ...]
    objectives: Mapping[str, Mapping[str, str]]


def results_of(study: Study, size: str, runs: Sequence[VariantRuns]) -> Results:
    """Put the runs of a study together; all its tests are corrected as one family."""
    objectives: dict[str, dict[str, str]] = {}
    for each in runs:
        objectives.setdefault(each.data_set, {})[each.variant] = each.objective
    lines = [line for each in runs for line in (*_figures(study, each), *_metrics(study, each))]
    preset = study.presets[size]
    data_sets = {
        data_set.name: written_data_set(data_set) for data_set in preset.data_sets if data_set.name in objectives
    }
    tested = tuple(_tested(study, lines, runs))
    return Results(study.name, study.title, size, written_preset(preset), data_sets, tested, objectives)


def _figures(study: Study, runs: VariantRuns) -> Iterator[Line]:
    for (name, method), values in runs.figures.items():
        if values:  # a single seed is like no other
            yield _line(study, runs, name, method, values)


def _metrics(study: Study, runs: VariantRuns) -> Iterator[Line]:
    for audited in runs.audits[0].metrics if runs.audits else ():
        for method in [each.name for each in runs.audits[0].methods]:
            values = runs.values(audited.name, method, runs.documents)
            if not np.isnan(values).all(1).any():
                line = _line(study, runs, audited.name, method, np.nanmean(values, 1).tolist())
                yield replace(line, greater_is_better=None if method == FLOOR else audited.greater_is_better)


def _line(study: Study, runs: VariantRuns, metric: str, method: str, values: Sequence[float]) -> Line:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    line = Line(runs.data_set, runs.place, runs.variant, metric, method, statistics.fmean(values), spread, len(values))
    return replace(line, published=_published(study, line))


def _published(study: Study, line: Line) -> float | None:
    """What the paper reports; it did so for the data a model was trained on."""
    place = (line.data_set, line.variant, line.metric.partition("(")[0], line.method)
    known = {(each.data_set, each.variant, each.metric, each.method): each.value for each in study.published}
    return known.get(place) if line.place == line.data_set else None


def _tested(study: Study, lines: Sequence[Line], runs: Sequence[VariantRuns]) -> Iterator[Line]:
    """The same lines with the contrast to the first variant, where there are documents to compare."""
    first = next(iter(study.variants))
    found = {
        (each.data_set, each.place, each.variant, audited.name): each
        for each in runs
        for audited in (each.audits[0].metrics if each.audits else ())
    }
    tested = [line for line in lines if line.greater_is_better is not None and line.variant != first]
    differences = [_difference(found, first, line) for line in tested]
    compared = contrasts(differences, [bool(line.greater_is_better) for line in tested])
    known = {id(line): contrast for line, contrast in zip(tested, compared, strict=True)}
    return (replace(line, contrast=known.get(id(line))) for line in lines)


def _difference(found: Mapping[tuple[str, str, str, str], VariantRuns], first: str, line: Line) -> Floats:
    """The first variant minus that of a line, after averaging over seeds: one number per document."""
    plain, other = (found[line.data_set, line.place, variant, line.metric] for variant in (first, line.variant))
    documents = plain.documents
    means = [runs.values(line.metric, line.method, documents).mean(0) for runs in (plain, other)]
    difference: Floats = means[0] - means[1]
    return difference
