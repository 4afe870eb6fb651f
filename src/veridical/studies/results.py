"""What a study found: numbers for each variant, and how each differs from what it is compared with."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veridical.audits.record import FLOOR, AuditedMetric
from veridical.audits.statistics.findings import ALPHA, Contrast, Curve
from veridical.audits.statistics.samples import estimates, smallest_effect
from veridical.audits.statistics.summary import contrasts
from veridical.studies.choice import Floats
from veridical.studies.runs import Judged, SeedRun
from veridical.studies.study import Study, written_data_set


def as_sure_as(base: str, variant: str) -> str:
    """How tables call the model of a variant that was made as sure of itself as that of another."""
    return f"{base}, as sure as {variant}"


_ENOUGH = 5
"""With fewer seeds quartiles are hardly more than the seeds themselves."""


@dataclass(frozen=True)
class Line:
    """A number for one variant: the mean over seeds (of the means over documents), and its spread over seeds.

    `contrast` is the variant `against` minus this one, paired by document after averaging over the seeds that both
    have; none for the random floor, which is there to be compared with. It is `judged` together with all others of its
    metric, which are corrected as one family, unless the variant is a control or the metric describes; then its
    corrected p is the raw one. `detectable` is the mean difference that as many documents, as spread, would show with
    80% power. `published` is what the paper says of the same, with its own model and data. `quartiles` over seeds, the
    median among them, are told where there are enough seeds.
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
    against: str | None = None
    judged: bool = False
    contrast: Contrast | None = None
    detectable: float | None = None
    published: float | None = None
    quartiles: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class StudyCurve:
    """What a metric that has steps found at each of them: means over documents after averaging over seeds."""

    data_set: str
    place: str
    variant: str
    curve: Curve


@dataclass(frozen=True)
class Results:
    """All lines of a study in one size, and what each variant was trained with, after tuning, on each data set.

    `setting` says in words what all data sets share: model, seeds and lengths of training. `data_sets` says of each how
    much of which data it is. `missing` says what a study that is not finished has not done yet.
    """

    study: str
    title: str
    size: str
    setting: str
    data_sets: Mapping[str, str]
    lines: tuple[Line, ...]
    objectives: Mapping[str, Mapping[str, str]]
    curves: tuple[StudyCurve, ...] = ()
    missing: tuple[str, ...] = ()


def results_of(study: Study, size: str, runs: Sequence[SeedRun]) -> Results:
    """Put the runs of a study together, all that there are so far."""
    objectives: dict[str, dict[str, str]] = {}
    for run in runs:
        objectives.setdefault(run.data_set, {})[run.variant] = run.objective
    preset = study.presets[size]
    return Results(
        study=study.name,
        title=study.title,
        size=size,
        setting=preset.setting,
        data_sets={each.name: written_data_set(each) for each in preset.data_sets if each.name in objectives},
        lines=tuple(_lines(study, runs)),
        objectives=objectives,
        curves=tuple(_curve(cell) for cell in _cells(runs).values() if cell.metric.steps),
        missing=tuple(_missing(study, size, runs)),
    )


def _missing(study: Study, size: str, runs: Sequence[SeedRun]) -> Iterator[str]:
    """What is not done, in words: variants of a data set with some of their seeds, or with none."""
    preset = study.presets[size]
    for data_set in preset.data_sets:
        for variant in study.variants_on(data_set):
            done = len({run.seed for run in runs if (run.data_set, run.variant) == (data_set.name, variant)})
            if done < len(preset.seeds):
                yield f"{data_set.name}, {variant}: {done} of {len(preset.seeds)} seeds"


def _lines(study: Study, runs: Sequence[SeedRun]) -> Iterator[Line]:
    """The figures of models, then what audits measured; once for each thing that a variant is compared with."""
    cells = _cells(runs)
    lines = {key: line for key, cell in cells.items() if (line := _measured(study, cell))}
    tests = [test for key, line in lines.items() for test in _tests(study, line, key, cells)]
    tested: dict[Key, list[Line]] = defaultdict(list)
    for test, line in zip(tests, _contrasted(tests), strict=True):
        tested[test.key].append(line)
    yield from _figures(study, runs)
    # A model that was made as sure as another is told of where that changed what it is compared by.
    bases = {(*test.key[:2], test.line.against, test.key[3]) for test in tests}
    for key, line in lines.items():
        if line.variant in study.variants or key[:4] in bases:
            yield from tested.get(key, [line])


Key = tuple[str, str, str, str, str]
"""Data set, place, variant, metric and method."""


@dataclass(frozen=True)
class _Cell:
    """A metric of a method in all seeds of a variant."""

    key: Key
    metric: AuditedMetric
    judged: dict[int, Judged] = field(default_factory=dict)

    def values(self, seeds: Iterable[int], documents: Sequence[str]) -> Floats:
        """One number per seed and document, [S, D]; NaN where there is none."""
        found = [dict(zip(self.judged[seed].documents, self.judged[seed].values, strict=True)) for seed in seeds]
        return np.array([[values.get(document, np.nan) for document in documents] for values in found])

    def curves(self) -> Floats:
        """One row of steps for each document, averaged over seeds, [D, K]; NaN where there is none."""
        found = [dict(zip(each.documents, each.curves, strict=True)) for each in self.judged.values()]
        empty = (np.nan,) * len(self.metric.steps)
        points: Floats = np.mean([[each.get(name, empty) for name in self.documents] for each in found], axis=0)
        return points

    @property
    def documents(self) -> Sequence[str]:
        """The documents of the first seed."""
        return next(iter(self.judged.values())).documents


def _cells(runs: Sequence[SeedRun]) -> dict[Key, _Cell]:
    found: dict[Key, _Cell] = {}
    for run in runs:
        for each in run.judged:
            key = (run.data_set, run.place, run.variant, each.metric.name, each.method)
            found.setdefault(key, _Cell(key, each.metric)).judged[run.seed] = each
    return found


def _curve(cell: _Cell) -> StudyCurve:
    data_set, place, variant, metric, method = cell.key
    found = Curve(metric, method, cell.metric.steps, tuple(estimates(list(cell.curves().T))))
    return StudyCurve(data_set, place, variant, found)


def _measured(study: Study, cell: _Cell) -> Line | None:
    """The line of a cell; none where the metric is undefined for all documents of a seed."""
    values = cell.values(cell.judged, cell.documents)
    if np.isnan(values).all(1).any():
        return None
    return replace(
        _line(study, cell.key, np.nanmean(values, 1).tolist()), greater_is_better=cell.metric.greater_is_better
    )


def _figures(study: Study, runs: Sequence[SeedRun]) -> Iterator[Line]:
    values: dict[Key, list[float]] = defaultdict(list)
    for run in runs:
        for (name, method), found in run.figures.items():
            values[run.data_set, run.place, run.variant, name, method] += found
    return (_line(study, key, found) for key, found in values.items() if found)  # a single seed is like no other


def _line(study: Study, key: Key, values: Sequence[float]) -> Line:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    quartiles = tuple(np.percentile(values, [25, 50, 75]).tolist()) if len(values) >= _ENOUGH else None
    line = Line(*key, mean=statistics.fmean(values), std=spread, seeds=len(values), quartiles=quartiles)
    return replace(line, published=_published(study, line))


def _published(study: Study, line: Line) -> float | None:
    """What the paper reports; it did so for the data a model was trained on."""
    known = {(each.data_set, each.variant, each.metric, each.method): each.value for each in study.published}
    if line.place != line.data_set:
        return None
    names = (line.metric, line.metric.partition("(")[0])  # a figure may be of a metric with its settings, or with any
    found = (known.get((line.data_set, line.variant, name, line.method)) for name in names)
    return next((each for each in found if each is not None), None)


@dataclass(frozen=True)
class _Test:
    """What a line is compared with, and by how much that is more, document by document [D]."""

    key: Key
    line: Line
    differences: Floats


def _tests(study: Study, line: Line, key: Key, cells: Mapping[Key, _Cell]) -> Iterator[_Test]:
    """The comparisons of a line: with its bases, and with the first made as sure where that has changed anything."""
    bases = study.bases_of(line.variant) if line.variant in study.variants else ()
    if not bases or line.method == FLOOR:
        return
    variant, metric = study.variants[line.variant], cells[key].metric
    named = ((name, cells.get((*key[:2], name, *key[3:]))) for name in (*bases, as_sure_as(bases[0], line.variant)))
    found = {against: _difference(cell, cells[key]) for against, cell in named if cell}
    for against, differences in found.items():
        if against in bases or not np.allclose(differences, found[bases[0]], equal_nan=True):
            judged = not (variant.control or metric.describes)
            yield _Test(key, replace(line, against=against, judged=judged), differences)


def _difference(base: _Cell, other: _Cell) -> Floats:
    """The base minus the other, after averaging over the seeds that both have: one number per document."""
    seeds = [seed for seed in base.judged if seed in other.judged]
    documents = base.documents
    difference: Floats = base.values(seeds, documents).mean(0) - other.values(seeds, documents).mean(0)
    return difference


def _contrasted(tests: Sequence[_Test]) -> list[Line]:
    """The lines of the tests with their contrasts: those of a metric that are judged are one family."""
    families: dict[object, list[int]] = defaultdict(list)
    for place, test in enumerate(tests):
        families[test.line.metric if test.line.judged else place].append(place)
    found: dict[int, Line] = {}
    for members in families.values():
        greater = [bool(tests[place].line.greater_is_better) for place in members]
        compared = contrasts([tests[place].differences for place in members], greater)
        for place, contrast in zip(members, compared, strict=True):
            found[place] = _with_contrast(tests[place], contrast, ALPHA / len(members))
    return [found[place] for place in range(len(tests))]


def _with_contrast(test: _Test, contrast: Contrast, level: float) -> Line:
    """`level` is what the clearest test of its family is held to, so that any one of them could be shown alone."""
    known = test.differences[~np.isnan(test.differences)]
    spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    smallest = smallest_effect(len(known), level)
    return replace(test.line, contrast=contrast, detectable=smallest * spread if spread else None)
