"""Sets of metrics: every name stands for metrics that exist, with a sentence that helps to choose."""

import dataclasses

import pytest

from veridical.core.syntax import parse_one
from veridical.metrics import METRICS
from veridical.metrics.sets import SETS, MetricSet


@pytest.mark.parametrize("name", SETS)
def test_every_metric_of_a_set_can_be_made_and_is_there_once(name):
    made = [METRICS.create(written) for written in SETS[name].metrics]
    assert made
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_a_sentence(name):
    assert SETS[name].meaning[0].isupper()
    assert SETS[name].meaning.endswith(".")


def test_no_set_has_the_name_of_a_metric():
    assert not set(SETS) & set(METRICS)


@pytest.mark.parametrize("name", ["eraser", "ferret", "saloss", "regex", "scc"])
def test_the_set_of_a_work_uses_its_presets(name):
    presets = [parse_one(written).options.get("preset", name) for written in SETS[name].metrics]
    assert all(preset.partition("-")[0] == name for preset in presets)


def test_the_default_set_tells_whether_erasers_agree():
    erasers = [METRICS.create(written).eraser for written in SETS["default"].metrics if "compre" in written]
    assert sorted(erasers) == ["delete", "mask", "pad", "pad_attn"]


def test_a_set_stays_as_it_is():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SETS["default"].metrics = ()
    assert MetricSet("One.", ("aopc",)) == MetricSet("One.", ("aopc",))
