"""Gates hold what was promised, in the unit that is printed."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from veridical.audits import Audit, AuditedMetric
from veridical.audits.statistics.gate import gate
from veridical.core.errors import UsageError

Make = Callable[..., Audit]

VALUES = {
    "comp": {"lime": [0.4, 0.5, 0.6, 0.5], "lrp": [0.1, 0.2, 0.3, 0.2], "random": [0.0] * 4},
    "flip": {"lime": [0.2, 0.3, 0.4, 0.3], "lrp": [math.nan] * 4, "random": [0.9] * 4},
}


def test_without_a_method_all_but_random_must_hold(make_audit: Make) -> None:
    found = gate(make_audit(VALUES), {"comp": 0.3})
    assert [(each.method, each.passed) for each in found] == [("lime", True), ("lrp", False)]
    assert found[0].words.startswith("pass: lime: comp is 0.500 (95% interval 0.4")
    assert found[0].words.endswith(", 0.3 or more")
    assert found[1].words.startswith("FAIL: lrp: comp is 0.200 (")
    assert ", not 0.3 or more" in found[1].words


def test_one_method_may_be_meant_even_random(make_audit: Make) -> None:
    found = gate(make_audit(VALUES), {"lime:comp": 0.3}, {"random:flip": 0.5})
    assert [(each.method, each.metric, each.bound, each.passed) for each in found] == [
        ("lime", "comp", "min", True),
        ("random", "flip", "max", False),
    ]


def test_the_bar_itself_holds(make_audit: Make) -> None:
    audit = make_audit({"comp": {"lime": [0.1, 0.2, 0.3, 0.6]}})
    assert all(each.passed for each in gate(audit, {"comp": 0.3}, {"comp": 0.3}))
    assert not any(each.passed for each in gate(audit, {"comp": 0.3001}, {"comp": 0.2999}))


def test_bars_are_in_the_printed_unit(make_audit: Make, make_metric: Callable[..., AuditedMetric]) -> None:
    audit = make_audit(VALUES, metrics=(make_metric("comp", percent=True), make_metric("flip")))
    passes, fails = gate(audit, {"lime:comp": 49}, {"lime:comp": 0.5})
    assert (passes.value, passes.passed, fails.passed) == (pytest.approx(50), True, False)
    assert 40 < passes.low < 50 < passes.high < 60


def test_an_interval_around_the_bar_is_mentioned(make_audit: Make) -> None:
    near, far = gate(make_audit(VALUES), {"lime:comp": 0.49, "lrp:comp": 0.05})
    assert near.passed
    assert "the interval has the bar inside" in near.words
    assert "bar inside" not in far.words


def test_what_is_undefined_everywhere_fails_and_says_so(make_audit: Make) -> None:
    for found in gate(make_audit(VALUES), {"lrp:flip": 0.0}, {"lrp:flip": 1.0}):
        assert not found.passed
        assert "FAIL: lrp: flip is undefined for all documents" in found.words


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("camp", "unknown metric of this audit 'camp'. Did you mean 'comp'?"),
        ("lime:flop", "unknown metric of this audit 'flop'. Did you mean 'flip'?"),
        ("lima:comp", "unknown method of this audit 'lima'. Did you mean 'lime'?"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(make_audit: Make, name: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        gate(make_audit(VALUES), {}, {name: 1})
    assert str(caught.value).startswith(said)


def test_names_may_have_colons(make_audit: Make) -> None:
    audit = make_audit({'auc(field="a:b")': {"file:lime": [0.5, 0.5]}})
    assert [each.method for each in gate(audit, {'auc(field="a:b")': 0.1, 'file:lime:auc(field="a:b")': 0.1})] == [
        "file:lime",
        "file:lime",
    ]


def test_random_alone_keeps_no_promise(make_audit: Make) -> None:
    with pytest.raises(UsageError, match="no method but random was audited"):
        gate(make_audit({"comp": {"random": [0.5]}}), {"comp": 0.1})


@pytest.mark.parametrize("bars", [["comp>=0.3"], "comp", 3, {"comp": "0.3"}, {"comp": None}])
def test_bars_are_numbers_by_name(make_audit: Make, bars: object) -> None:
    with pytest.raises(UsageError, match="no bars. Give numbers by name"):
        gate(make_audit(VALUES), bars)  # type: ignore[arg-type]


def test_a_folder_is_no_audit() -> None:
    with pytest.raises(UsageError, match=r"'runs/audit' is no audit. Give what audit\(...\) or load_audit\(folder\)"):
        gate("runs/audit", {"comp": 0.3})  # type: ignore[arg-type]
