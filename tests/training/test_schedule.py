"""A schedule checks itself, explains each of its options, and knows what it needs."""

import subprocess
import sys

import pytest

from veridical.core.component import options_of
from veridical.core.errors import UsageError
from veridical.training import Schedule


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"epochs": float("nan")},
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"rate": -1e-3},
        {"warmup": -0.1},
        {"patience": 0},
        {"accumulate": 0},
        {"bf16": "yes"},
        {"report_to": "foo"},
        {"seed": -1},
        {"seed": 2**32},
    ],
    ids=str,
)
def test_values_beyond_their_limits_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(UsageError, match=f"Schedule.{name}="):
        Schedule(**wrong)


def test_every_option_says_what_it_does_in_a_sentence():
    for name, each in options_of(Schedule).items():
        assert each.help.endswith("."), name
        assert each.help[0].isupper(), name


def test_a_logger_must_be_installed(monkeypatch):
    Schedule().require_logger()
    monkeypatch.setattr("veridical.training.schedule.find_spec", lambda name: object() if name == "mlflow" else None)
    Schedule(report_to="mlflow").require_logger()
    with pytest.raises(UsageError, match="cannot report to tensorboard: the package is not installed.*tensorboard"):
        Schedule(report_to="tensorboard").require_logger()


def test_a_schedule_needs_no_torch():
    code = "import sys; from veridical.training import Schedule; Schedule(); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
