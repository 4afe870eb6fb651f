"""What a study found, and its tables."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from veridical.audits import Audit
from veridical.audits.record import FLOOR
from veridical.audits.statistics.findings import Contrast, plain
from veridical.audits.statistics.summary import contrasts, turned_around
from veridical.core.storage import write_json, write_text
from veridical.studies.choice import Floats, aligned
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


def markdown(results: Results) -> str:
    """A table for each metric: how every variant does in every place, beside what was published."""
    metrics = list(dict.fromkeys(line.metric for line in results.lines))
    parts = [f"# {results.study}: {results.title}", _told(results), _in_short(results.lines)]
    parts += [_table(metric, [line for line in results.lines if line.metric == metric]) for metric in metrics]
    return "\n\n".join(parts) + "\n"


def as_json(results: Results) -> dict[str, Any]:
    """The results as data; numbers that do not exist are null."""
    told: dict[str, Any] = plain(results)
    return told


def write_tables(results: Results, folder: str | PathLike[str]) -> None:
    """Write the tables of a study, for people and for programs."""
    write_text(table_file(results, folder), markdown(results))
    write_json(table_file(results, folder).with_suffix(".json"), as_json(results))


def table_file(results: Results, folder: str | PathLike[str]) -> Path:
    """The file for people."""
    return Path(folder) / f"{results.study}-{results.size}.md"


def _told(results: Results) -> str:
    data_sets = [
        f"- {data_set}: {results.data_sets[data_set]}. "
        + ", ".join(f"{variant}: `{objective}`" for variant, objective in found.items())
        for data_set, found in results.objectives.items()
    ]
    how = (
        f"Size `{results.size}`: {results.setting}. Mean over seeds (standard deviation over seeds). `better` and "
        "`worse` are against the first variant: paired signed-rank tests by document after averaging over seeds, "
        "corrected over the whole study (Holm). The difference is this variant minus the first, with its 95% interval."
    )
    return "\n".join([how, "", "Trained and looked at:", "", *data_sets])


def _in_short(lines: Sequence[Line]) -> str:
    """How often each variant did better or worse than the first, metric by metric."""
    asked = [line for line in lines if line.contrast]
    counts = Counter((line.metric, line.variant, line.contrast.second) for line in asked if line.contrast)
    rows = [
        f"- {metric}, {variant}: better in {counts[metric, variant, 'better']}, worse in "
        f"{counts[metric, variant, 'worse']}, cannot tell in {counts[metric, variant, 'cannot tell']}"
        for metric, variant in dict.fromkeys((line.metric, line.variant) for line in asked)
    ]
    return "\n".join(["Methods and places in which a variant differs from the first:", "", *rows])


def _table(metric: str, lines: list[Line]) -> str:
    head = "| trained on | looked at | method | variant | mean (std) | minus the first | published |"
    rows = [_row(line) for line in lines]
    return "\n".join([f"## {metric}", "", head, "|" + " --- |" * 7, *rows])


def _row(line: Line) -> str:
    published = "" if line.published is None else f"{line.published:.2f}"
    place = "" if line.place == line.data_set else line.place
    cells = [
        line.data_set,
        place,
        line.method,
        line.variant,
        f"{line.mean:.3f} ({line.std:.3f})",
        _against(line),
        published,
    ]
    return "| " + " | ".join(cells) + " |"


def _against(line: Line) -> str:
    if line.contrast is None:
        return ""
    found = turned_around(line.contrast)
    interval = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
    mark = "" if found.verdict == "cannot tell" else f"**{line.contrast.second}** "
    return f"{mark}{interval}, p {_p(found.adjusted)}"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
