"""What was measured of each training of a study, number by number, and the file that keeps it without the models."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from veridical.audits import Audit
from veridical.audits.record import AuditedMetric
from veridical.audits.statistics.findings import plain
from veridical.core.errors import StorageError, UsageError
from veridical.core.storage import replacing
from veridical.studies.study import LAYER

_FORMAT, _VERSION = "veridical-study", 1
_KEY = b"veridical"

_SCHEMA = pa.schema(
    [
        ("run", pa.int32()),
        ("metric", pa.string()),
        ("method", pa.string()),
        ("document", pa.string()),
        ("value", pa.float32()),  # metrics compute in this precision
        ("curve", pa.list_(pa.float32())),
    ]
)


Figures = dict[tuple[str, str], list[float]]
"""Numbers of a model, by name and method."""


@dataclass(frozen=True)
class Judged:
    """What a metric found of a method, document by document; NaN is undefined.

    `curves` has a row of steps for each document, if the metric has steps.
    """

    metric: AuditedMetric
    method: str
    documents: tuple[str, ...]
    values: tuple[float, ...]
    curves: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class SeedRun:
    """One training of a variant, looked at in one place.

    `figures` are numbers of the model itself, some for each name and method (empty where none has a part in it).
    """

    data_set: str
    place: str
    variant: str
    objective: str
    seed: int
    judged: tuple[Judged, ...] = ()
    figures: Mapping[tuple[str, str], Sequence[float]] = field(default_factory=dict)


def judged_in(audit: Audit) -> tuple[Judged, ...]:
    """All numbers of an audit that studies read."""
    ids = tuple(document.id for document in audit.documents)
    return tuple(
        Judged(
            metric,
            method.name,
            ids,
            tuple(audit.values(metric.name, method.name).tolist()),
            tuple(map(tuple, audit.curves(metric.name, method.name).tolist())) if metric.steps else (),
        )
        for metric in audit.metrics
        for method in audit.methods
        if audit.has(metric.name, method.name)
    )


def relabelled(judged: Sequence[Judged], layer: str | None, names: Mapping[str, str]) -> tuple[Judged, ...]:
    """The same with the model's layer called so, and with other names for parts of the names of metrics."""

    def of_metric(metric: AuditedMetric) -> AuditedMetric:
        for part, name in names.items():
            metric = replace(metric, name=metric.name.replace(part, name))
        return metric

    return tuple(
        replace(each, metric=of_metric(each.metric), method=LAYER if each.method == layer else each.method)
        for each in judged
    )


def write_runs(path: Path, told: Mapping[str, Any], runs: Sequence[SeedRun]) -> None:
    """Keep all numbers of a study; `told` says which study, so that another one does not go on from them."""
    metrics = {each.metric.name: plain(each.metric) for run in runs for each in run.judged}
    head = {"format": _FORMAT, "version": _VERSION, "told": told, "metrics": list(metrics.values())}
    head["runs"] = [_run_told(run) for run in runs]
    rows = [row for index, run in enumerate(runs) for row in _rows(index, run)]
    table = pa.Table.from_pylist(rows, schema=_SCHEMA.with_metadata({_KEY: json.dumps(head).encode()}))
    with replacing(path) as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def read_runs(path: Path, told: Mapping[str, Any]) -> list[SeedRun]:
    """The runs that are kept in a file, none if there is no file; those of a study that differs are refused."""
    if not path.exists():
        return []
    try:
        table = pq.read_table(path)
        head = json.loads(table.schema.metadata[_KEY])
        rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in table.to_pylist():
            rows[row["run"]].append(row)
        metrics = {each["name"]: AuditedMetric(**{**each, "steps": tuple(each["steps"])}) for each in head["metrics"]}
        found = [_run(each, rows[index], metrics) for index, each in enumerate(head["runs"])]
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{path} is damaged: {error}", remedy="Remove it; the study begins anew.") from error
    if (head["format"], head["version"], head["told"]) != (_FORMAT, _VERSION, json.loads(json.dumps(told))):
        raise UsageError(
            f"{path} holds the numbers of another study, or of other settings",
            remedy="Name another folder for the tables, or move the file away.",
        )
    return found


def _run_told(run: SeedRun) -> dict[str, Any]:
    figures = [[name, method, list(values)] for (name, method), values in run.figures.items()]
    names = ("data_set", "place", "variant", "objective", "seed")
    return {**{name: getattr(run, name) for name in names}, "figures": figures}


def _rows(index: int, run: SeedRun) -> Iterator[dict[str, Any]]:
    for each in run.judged:
        curves = each.curves or ((),) * len(each.documents)
        for document, value, curve in zip(each.documents, each.values, curves, strict=True):
            named = {"metric": each.metric.name, "method": each.method, "document": document}
            yield {"run": index, **named, "value": value, "curve": list(curve)}


def _run(told: dict[str, Any], rows: Sequence[dict[str, Any]], metrics: Mapping[str, AuditedMetric]) -> SeedRun:
    figures = {(name, method): values for name, method, values in told.pop("figures")}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["metric"], row["method"]].append(row)
    judged = (_judged(metrics[metric], method, found) for (metric, method), found in groups.items())
    return SeedRun(**told, judged=tuple(judged), figures=figures)


def _judged(metric: AuditedMetric, method: str, rows: Sequence[dict[str, Any]]) -> Judged:
    curves = tuple(tuple(row["curve"]) for row in rows) if metric.steps else ()
    values = tuple(math.nan if row["value"] is None else row["value"] for row in rows)
    return Judged(metric, method, tuple(row["document"] for row in rows), values, curves)
