"""Presets of commands: what somebody asks for stays, also where it is the default."""

import importlib

import pytest

SMAT = ["scaffold", "--data", "planted:train[:8]", "--out", "never"]
L2E = ["distil", "--teacher", "occlusion", "--data", "planted:train[:8]", "--out", "never"]


class Asked(Exception):
    """What stops a command once its plan is known."""


@pytest.fixture
def plan_of(veridical, trained, monkeypatch):
    """The plan that a command hands to its job, which is not done."""

    def of(command, *options):
        name = command[0]
        asked = {}

        def job(*_, plan, **__):
            asked["plan"] = plan
            raise Asked

        monkeypatch.setattr(importlib.import_module(f"veridical.run.{name}"), name, job)
        with pytest.raises(Asked):
            veridical(name, str(trained), *command[1:], *options)
        return asked["plan"]

    return of


def test_a_preset_of_students_sets_what_was_not_asked_for(plan_of):
    assert plan_of(L2E).reduction == "mean"
    assert plan_of(L2E, "--preset", "paper").reduction == "sum"
    asked = plan_of(L2E, "--preset", "paper", "--reduction", "mean", "--dropout", "0.1", "--epochs", "2")
    assert (asked.reduction, asked.dropout, asked.epochs, asked.width) == ("mean", 0.1, 2.0, 512)


def test_a_preset_of_scaffolding_sets_what_was_not_asked_for(plan_of):
    assert plan_of(SMAT, "--preset", "gradients").explainer == "gradients"
    assert plan_of(SMAT, "--preset", "gradients", "--explainer", "attention").explainer == "attention"
    assert plan_of(SMAT, "--preset", "smat-quality").outer_rate == 2e-4
    assert plan_of(SMAT, "--preset", "smat-quality", "--outer-rate", "5e-4").outer_rate == 5e-4


@pytest.mark.parametrize("command", [L2E, SMAT])
def test_an_unknown_preset_is_named(veridical, trained, command):
    done = veridical(command[0], str(trained), *command[1:], "--preset", "papr")
    assert done.returncode == 2
    assert "unknown preset 'papr'" in done.stderr
