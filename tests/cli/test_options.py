"""Flags are made of the fields of settings classes: the same for every command, with our messages."""

import inspect
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
import typer

from veridical.cli.choose import choose
from veridical.cli.common import options_from, seeds_of
from veridical.cli.fresh import fresh
from veridical.cli.main import app
from veridical.cli.train import train
from veridical.core.component import Component, Count, Share, option, options_of
from veridical.core.errors import UsageError
from veridical.core.extraction import Extraction
from veridical.training import Schedule


@dataclass(frozen=True)
class Oven(Component):
    degrees: Count = option(200, "How hot it is; more burns.")
    share: Share | None = option(None, "How full it is.")
    mode: Literal["fan", "grill"] = option("fan", "Where heat comes from.")
    light: bool = option(False, "Whether one sees anything.")
    seed: int = option(0, "What chance begins with.")


@options_from(leave_out=("seed",), oven=Oven)
def bake(*, dough: Annotated[str, typer.Option(help="What is baked.")], oven: Oven, as_json: bool = False) -> None:
    """Bake something."""
    baked.append((dough, oven, as_json))


baked = []


def parameters(command):
    """The options of a command as a user meets them, by name."""
    only = typer.Typer()
    only.command()(command)
    return {each.name: each for each in typer.main.get_command(only).params}


def test_fields_take_the_place_of_the_parameter_in_their_order():
    assert list(inspect.signature(bake).parameters) == ["dough", "degrees", "share", "mode", "light", "as_json"]
    assert bake.__doc__ == "Bake something."


def test_a_flag_has_name_default_limits_and_help_of_its_field():
    found = parameters(bake)
    assert found["degrees"].opts == ["--degrees"]
    assert found["degrees"].default == 200
    assert found["degrees"].help == "How hot it is (1 or more); more burns."
    assert found["share"].help == "How full it is (more than 0 and at most 1)."
    assert found["mode"].help == "Where heat comes from (fan or grill)."
    assert found["light"].is_flag
    assert found["light"].secondary_opts == []
    assert not any(each.required for name, each in found.items() if name != "dough")


def test_a_command_gets_the_settings_as_one_value():
    baked.clear()
    bake(dough="rye", degrees=230, share=0.5, mode="grill", light=True, as_json=False)
    assert baked == [("rye", Oven(230, 0.5, "grill", True), False)]


def test_wrong_values_are_named_with_the_command():
    for wrong, words in (({"degrees": 0}, "bake.degrees=0. is beyond its limits"), ({"mode": "sun"}, "bake.mode=sun.")):
        with pytest.raises(UsageError, match=words):
            bake(**{"dough": "rye", "degrees": 1, "share": None, "mode": "fan", "light": False, **wrong})


@pytest.mark.parametrize("command", [train, choose, fresh], ids=lambda each: each.__name__)
def test_every_command_that_trains_has_every_field_of_a_schedule(command):
    found = parameters(command)
    fields = {name: each for name, each in options_of(Schedule).items() if name != "seed"}
    assert fields.keys() <= found.keys()
    for name, field in fields.items():
        assert found[name].default == field.default
        assert found[name].help.startswith(field.help.rstrip(".").split(";")[0].split(":")[0])
    assert found["seed"].default == "0"  # several may be named
    if command is fresh:
        assert options_of(Extraction).keys() <= found.keys()


def test_every_option_of_every_command_has_a_sentence():
    for name, command in typer.main.get_command(app).commands.items():
        for each in command.params:
            assert each.name == "help" or each.help, f"{name}: {each.name}"


def test_seeds_are_numbers_named_once():
    assert seeds_of("0") == [0]
    assert seeds_of("3,1,3, 2") == [3, 1, 2]
    with pytest.raises(UsageError, match="--seed cannot be '1,x'"):
        seeds_of("1,x")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epochs", 0], "train(epochs=0.0) is beyond its limits"),
        (["--batch-size", -1], "train(batch_size=-1) is beyond its limits"),
        (["--report-to", "foo"], "report_to is one of: none, tensorboard, mlflow, wandb"),
        (["--metric", "beauty"], "unknown dev figure 'beauty'"),
        (["--accumulate", "x"], "--accumulate"),
        (["--seed", "one"], "--seed cannot be 'one'"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_wrong_flags_end_with_2_before_anything_is_made(veridical, tmp_path, options, words):
    data = ["--data", "planted(train=20, length=4)", "--model", "tiny"]
    done = veridical("train", *data, "--out", tmp_path / "run", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()
