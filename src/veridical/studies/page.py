"""A study as a page: what was found in short, and how variants differ step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from veridical.audits.record import FLOOR
from veridical.core.storage import text_file
from veridical.report.plots.charts import Point, lines
from veridical.report.style import environment
from veridical.studies.results import Results, StudyCurve

_TEMPLATES = environment("veridical.studies", "veridical.report")

List = tuple[str, Sequence[str]]
"""A heading, and what stands below it."""


@dataclass(frozen=True)
class StudyFigure:
    """The curves of all variants by one metric of one method in one place."""

    title: str
    drawn: Markup


def write_study_page(results: Results, lists: Sequence[List], path: Path) -> None:
    """Write the page; it appears only when it is complete."""
    values = {
        "title": f"{results.study}: {results.title}",
        "setting": results.setting,
        "data_sets": results.data_sets,
        "lists": [(heading, rows) for heading, rows in lists if rows],
        "figures": list(figures(results.curves)),
    }
    with text_file(path) as page:
        page.writelines(_TEMPLATES.get_template("study.html").generate(values))


def figures(curves: Sequence[StudyCurve]) -> Iterator[StudyFigure]:
    """A figure for each place, metric and method, with a line for each variant; none for the floor."""
    groups: dict[tuple[str, str, str, str], list[StudyCurve]] = {}
    for each in curves:
        if each.curve.method != FLOOR:
            groups.setdefault((each.data_set, each.place, each.curve.metric, each.curve.method), []).append(each)
    for (data_set, place, metric, method), found in groups.items():
        where = data_set if place == data_set else f"{data_set} → {place}"
        yield StudyFigure(f"{where}: {metric} of {method}", _drawn(metric, found))


def _drawn(metric: str, found: Sequence[StudyCurve]) -> Markup:
    shares = max(found[0].curve.steps) <= 1
    x = "share of words" if shares else "words"
    series = {each.variant: _points(each) for each in found}
    kind = metric.partition("(")[0]
    return lines(series, f"{kind} by {x}", x, kind, percent=shares)


def _points(found: StudyCurve) -> list[Point]:
    steps = zip(found.curve.steps, found.curve.estimates, strict=True)
    return [Point(step, at.mean, at.low, at.high) for step, at in steps]
