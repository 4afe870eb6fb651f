"""Removal sensitivity: does the ranking of methods survive another way of taking words away?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from veridical.report.audit.findings import Ranking, Removal, Table
from veridical.report.audit.record import FLOOR, Audit, Judge
from veridical.report.audit.specs import key


def removals(audit: Audit, tables: Sequence[Table]) -> tuple[Removal, ...]:
    """Metrics that differ in nothing but their eraser, side by side."""
    groups: dict[str, list[Judge]] = {}
    for judge in audit.metrics:
        if judge.eraser is not None:
            groups.setdefault(_settings(judge), []).append(judge)
    known = {table.metric: table for table in tables}
    found = [_removal(group, [known[judge.name] for judge in group]) for group in groups.values() if len(group) > 1]
    return tuple(each for each in found if len(each.rankings[0].methods) > 1)


def _settings(judge: Judge) -> str:
    return key({option: value for option, value in judge.spec.items() if option != "eraser"})


def _removal(judges: Sequence[Judge], tables: Sequence[Table]) -> Removal:
    scored = [{cell.method for cell in table.cells if cell.order == "given" and cell.scored} for table in tables]
    methods = sorted(set.intersection(*scored) - {FLOOR})
    rankings = tuple(_ranking(judge, table, methods) for judge, table in zip(judges, tables, strict=True))
    best = [method for method in tables[0].best if method in methods and all(method in each.best for each in tables)]
    tops = {ranking.methods[:1] for ranking in rankings}
    return Removal(judges[0].kind, rankings, _kendall(rankings, methods), tuple(best), len(tops) == 1)


def _ranking(judge: Judge, table: Table, methods: Sequence[str]) -> Ranking:
    means = {cell.method: cell.mean for cell in table.cells if cell.order == "given" and cell.method in methods}
    ranked = sorted(methods, key=means.__getitem__, reverse=judge.greater_is_better)
    return Ranking(judge.name, str(judge.eraser), tuple(ranked), tuple(means[method] for method in ranked))


def _kendall(rankings: Sequence[Ranking], methods: Sequence[str]) -> tuple[tuple[float, ...], ...]:
    means = [dict(zip(ranking.methods, ranking.means, strict=True)) for ranking in rankings]
    columns = [np.array([each[method] for method in methods]) for each in means]
    return tuple(tuple(_tau(one, other) for other in columns) for one in columns)


def _tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(stats.kendalltau(one, other).statistic) if len(one) > 1 else np.nan
