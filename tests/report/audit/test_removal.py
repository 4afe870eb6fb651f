"""Rankings under several erasers, by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from veridical.report.audit import Audit, Judge
from veridical.report.audit.findings import Removal
from veridical.report.audit.removal import removals
from veridical.report.audit.table import table

Make = Callable[..., Audit]

NOISE = np.linspace(0, 0.1, 30)


def values(**means: float) -> dict[str, Sequence[float]]:
    return {method: list(mean + NOISE * (1 + 0.1 * place)) for place, (method, mean) in enumerate(means.items())}


def found(
    make_audit: Make, judges: Sequence[Judge], by: Mapping[str, Mapping[str, Sequence[float]]]
) -> Sequence[Removal]:
    audit = make_audit(by, metrics=tuple(judges))
    return removals(audit, [table(audit, judge, "t") for judge in judges])


def comp(make_judge: Callable[..., Judge], eraser: str, **options: object) -> Judge:
    name = f"comp({eraser}{options or ''})"
    return make_judge(name, spec={"name": "comp", "eraser": eraser, **options})


def test_a_ranking_that_survives(make_audit: Make, make_judge: Callable[..., Judge]) -> None:
    judges = [comp(make_judge, "pad"), comp(make_judge, "delete")]
    means = [values(random=0.9, lrp=0.2, lime=0.6, shap=0.4), values(random=0, lrp=0.1, lime=0.3, shap=0.2)]
    (removal,) = found(make_audit, judges, {judge.name: each for judge, each in zip(judges, means, strict=True)})
    assert [ranking.methods for ranking in removal.rankings] == [("lime", "shap", "lrp")] * 2
    assert [ranking.eraser for ranking in removal.rankings] == ["pad", "delete"]
    assert (removal.kind, removal.survives) == ("comp", True)
    assert np.array(removal.kendall) == pytest.approx(np.ones((2, 2)))


def test_a_ranking_that_turns_over(make_audit: Make, make_judge: Callable[..., Judge]) -> None:
    judges = [comp(make_judge, eraser) for eraser in ("pad", "delete", "mask")]
    means = [values(a=0.3, b=0.2, c=0.1), values(a=0.1, b=0.2, c=0.3), values(a=0.2, b=0.3, c=0.1)]
    (removal,) = found(make_audit, judges, {judge.name: each for judge, each in zip(judges, means, strict=True)})
    assert (removal.survives, removal.best) == (False, ())
    assert removal.kendall[0] == pytest.approx((1, -1, 1 / 3))  # one of three pairs differs between pad and mask


def test_lower_is_better_ranks_the_other_way(make_audit: Make, make_judge: Callable[..., Judge]) -> None:
    judges = [
        make_judge(eraser, spec={"name": "flip", "eraser": eraser}, greater_is_better=False)
        for eraser in ("pad", "mask")
    ]
    (removal,) = found(make_audit, judges, {judge.name: values(a=0.3, b=0.2) for judge in judges})
    assert removal.rankings[0].methods == (*removal.best, "a") == ("b", "a")


def test_only_metrics_that_differ_in_nothing_else_are_side_by_side(
    make_audit: Make, make_judge: Callable[..., Judge]
) -> None:
    judges = [comp(make_judge, "pad", bins=[1, 2]), comp(make_judge, "delete", bins=[1]), make_judge("auc")]
    assert not found(make_audit, judges, {judge.name: values(a=0.1, b=0.2) for judge in judges})


def test_options_from_memory_and_from_a_file_are_the_same(make_audit: Make, make_judge: Callable[..., Judge]) -> None:
    judges = [comp(make_judge, "pad", bins=[1, 2]), comp(make_judge, "delete", bins=(1, 2))]
    assert len(found(make_audit, judges, {judge.name: values(a=0.1, b=0.2) for judge in judges})) == 1


def test_one_method_has_no_ranking(make_audit: Make, make_judge: Callable[..., Judge]) -> None:
    judges = [comp(make_judge, "pad"), comp(make_judge, "delete")]
    assert not found(make_audit, judges, {judge.name: values(random=0.1, lime=0.2) for judge in judges})
