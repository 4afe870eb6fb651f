"""The tables of a study, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from veridical.audits.statistics.findings import plain
from veridical.audits.statistics.summary import turned_around
from veridical.core.storage import write_json, write_text
from veridical.studies.page import List, write_study_page
from veridical.studies.results import Line, Results

_COLUMNS = (
    "data",
    "method",
    "variant",
    "mean (std, runs)",
    "against",
    "difference",
    "p",
    "corrected p",
    "rank-biserial",
    "Cohen's d",
    "detectable",
    "published",
)


def markdown(results: Results) -> str:
    """What was done, what was found in short, and a table for each metric."""
    metrics = list(dict.fromkeys(line.metric for line in results.lines))
    parts = [_told(results), in_short(results)]
    parts += [_table(metric, [line for line in results.lines if line.metric == metric]) for metric in metrics]
    return "\n\n".join([f"# {results.study}: {results.title}", *parts]) + "\n"


def in_short(results: Results) -> str:
    """How often each variant did better or worse, what the paper says, and what is still missing."""
    return "\n\n".join("\n".join([title, "", *(f"- {row}" for row in rows)]) for title, rows in _lists(results) if rows)


def _lists(results: Results) -> list[List]:
    return [
        ("Methods and places in which a variant differs from what it is compared with:", _counts(results.lines)),
        ("Beside the published figures, which are of other models and more data:", _beside(results.lines)),
        ("Not finished, so these tables are of a part of the study. Still missing:", results.missing),
    ]


def as_json(results: Results) -> dict[str, Any]:
    """The results as data; numbers that do not exist are null."""
    told: dict[str, Any] = plain(results)
    return told


def write_tables(results: Results, folder: str | PathLike[str]) -> None:
    """Write the tables of a study, and its page."""
    write_text(table_file(results, folder), markdown(results))
    write_json(table_file(results, folder).with_suffix(".json"), as_json(results))
    write_study_page(results, _lists(results), table_file(results, folder).with_suffix(".html"))


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
        f"Size `{results.size}`: {results.setting}. Mean over seeds (standard deviation over seeds, number of seeds, "
        "or of pairs of them); with five seeds or more also their median [and quartiles]. The difference is the "
        "variant minus what it is held against, with its 95% interval; p is of a paired signed-rank test by document "
        "after averaging over seeds. `better` and `worse` are by the corrected p: all tests of a metric are one family "
        "(Holm). Controls and metrics that describe stand outside, with their raw p only. `detectable` is the "
        "difference that as many documents would show with 80% power. `plain, as sure as X` is the plain model with "
        "its logits divided by one number, so that the mean probability of the predicted class is that of X; it is "
        "left out where that changes nothing, as for decisions."
    )
    return "\n".join([how, "", "Trained and looked at:", "", *data_sets])


def _counts(lines: Sequence[Line]) -> list[str]:
    judged = [line for line in lines if line.judged]
    places = [(line.metric, f"{line.variant} against {line.against}") for line in judged]
    counts = Counter(
        (*place, line.contrast.second) for place, line in zip(places, judged, strict=True) if line.contrast
    )
    outcomes = ("better", "worse", "cannot tell")
    return [
        f"{metric}, {pair}: " + ", ".join(f"{outcome} in {counts[metric, pair, outcome]}" for outcome in outcomes)
        for metric, pair in dict.fromkeys(places)
    ]


def _beside(lines: Sequence[Line]) -> list[str]:
    known = {(line.data_set, line.metric, line.method, line.variant): line for line in lines if line.published}
    return [
        f"{data_set}, {metric}{f' of {method}' if method else ''}, {variant}: {line.mean:.3f} here, "
        f"{line.published:.2f} published"
        for (data_set, metric, method, variant), line in known.items()
    ]


def _table(metric: str, lines: list[Line]) -> str:
    # Variants of one method in one place stand together: they are what is compared.
    ordered = sorted(lines, key=lambda line: _first_places(lines).index((line.data_set, line.place, line.method)))
    rows = ["| " + " | ".join(cells) + " |" for cells in (_COLUMNS, *(_cells(line) for line in ordered))]
    return "\n".join([f"## {metric}", "", rows[0], "|" + " --- |" * len(_COLUMNS), *rows[1:]])


def _first_places(lines: Sequence[Line]) -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((line.data_set, line.place, line.method) for line in lines))


def _cells(line: Line) -> tuple[str, ...]:
    place = line.data_set if line.place == line.data_set else f"{line.data_set} → {line.place}"
    mean = f"{line.mean:.3f} ({line.std:.3f}, {line.seeds})"
    if line.quartiles:
        low, middle, high = line.quartiles
        mean += f"; {middle:.3f} [{low:.3f}, {high:.3f}]"
    published = "" if line.published is None else f"{line.published:.2f}"
    return (place, line.method, line.variant, mean, *_against(line), published)


def _against(line: Line) -> Iterator[str]:
    if line.contrast is None:
        yield from [""] * 7
        return
    found = turned_around(line.contrast)
    mark = f"**{line.contrast.second}** " if line.judged and found.verdict != "cannot tell" else ""
    yield str(line.against)
    yield f"{mark}{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}], n {found.n}"
    yield _p(found.p)
    yield _p(found.adjusted) if line.judged else ""
    yield f"{found.rank_biserial:+.2f}"
    yield f"{found.cohen:+.2f}"
    yield "" if line.detectable is None else f"{line.detectable:.3f}"


def _p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
