"""Options with limits: what is beyond them is refused when a thing is made, in Python as on the command line."""

from dataclasses import dataclass

import pytest

from veridical.core.component import Count, Positive, Share, check
from veridical.core.errors import UsageError
from veridical.objectives import OBJECTIVES
from veridical.run.rationales import Extraction
from veridical.training import Schedule


@dataclass(frozen=True)
class Thing:
    ratio: Share = 0.5
    steps: Count | None = None
    rate: Positive = 1.0
    name: str = "thing"

    def __post_init__(self):
        check(self)


@pytest.mark.parametrize("options", [{}, {"ratio": 1.0}, {"steps": 1}, {"ratio": 1e-9, "steps": 10**9, "rate": 1e9}])
def test_what_is_within_the_limits(options):
    assert Thing(**options)


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({"ratio": 20}, "ratio is more than 0 and at most 1"),
        ({"ratio": 0.0}, "ratio is more than 0"),
        ({"ratio": float("nan")}, "ratio is more than 0"),
        ({"steps": 0}, "steps is 1 or more"),
        ({"rate": -1.0}, "rate is more than 0"),
    ],
)
def test_what_is_beyond_them(options, limits):
    (option, value), *_ = options.items()
    with pytest.raises(UsageError, match=rf"Thing\({option}={value}\) is beyond its limits.*{limits}"):
        Thing(**options)


@pytest.mark.parametrize(
    "text",
    [
        "cross-entropy(smoothing=2)",
        "saloss(lam=-1)",
        "regex(steps=0)",
        "regex(every=0)",
        "regex(ratio=15)",
        "regex(l2=-1)",
        "input-gradient(every=0)",
        "virtual-adversarial(steps=-1)",
        "virtual-adversarial(eps=0)",
        "explanation-guided(ratio=15)",
        "random-erasure(chance=1.5)",
        "rationale(ratio=20)",
        "rationale(temperature=0)",
        "saloss + rationale(ratio=20)",
    ],
)
def test_objectives_say_so_before_anything_is_trained(text):
    with pytest.raises(UsageError, match="is beyond its limits"):
        OBJECTIVES.create(text)


@pytest.mark.parametrize(
    "options",
    [{"epochs": 0}, {"batch_size": 0}, {"checks": 0}, {"patience": 0}, {"accumulate": 0}, {"rate": 0.0}, {"seed": -1}],
)
def test_schedules(options):
    with pytest.raises(UsageError, match=rf"Schedule\({next(iter(options))}=.*is beyond its limits"):
        Schedule(**options)


def test_a_percentage_is_no_ratio():
    with pytest.raises(UsageError, match=r"Extraction\(ratio=20\).*at most 1"):
        Extraction("attention", 20)
