"""The tables of a study, as Markdown and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from veridical.audits.statistics.findings import plain
from veridical.audits.statistics.tables import turned_around
from veridical.core.storage import write_json, write_text
from veridical.studies.results import Line, Results


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
