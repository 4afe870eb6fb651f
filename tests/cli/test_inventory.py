"""`veridical list`: tables, one thing in detail, and what a model has learned."""

import json

import pytest

from veridical.cli.inventory import What
from veridical.explainers import EXPLAINERS, Lime
from veridical.metrics import METRICS
from veridical.run.catalogue import TABLES, rows


def one_line(text):
    return " ".join(text.split())


def test_every_table_can_be_asked_for():
    assert [each.value for each in What] == [*TABLES, "all"]


def test_all_tables_are_shown_and_options_are_left_to_the_details(veridical):
    shown = veridical("list").stdout
    assert all(f"\n{table}\n" in shown for table in TABLES)
    assert "veridical list explainers lime" in one_line(shown)
    assert "options:" not in shown
    assert "presets: scc, scc-5" in one_line(shown)


def test_one_thing_is_shown_with_every_option(veridical):
    shown = one_line(veridical("list", "metrics", "decision-flip").stdout)
    assert shown.startswith("decision-flip The share of words")
    assert "option default takes what it does" in shown
    for name in ("step", "grid", "eraser"):
        assert name in shown
    assert "even or reference" in shown
    assert "decision-flip(preset=saloss-code) grid=reference" in shown
    assert "decision-flip(preset=saloss) the defaults" in shown
    assert "known weakness: Depends on" in shown


@pytest.mark.parametrize("table", ["metric-sets", "models", "erasers", "data", "objectives", "saliences"])
def test_the_first_of_each_table_is_shown_alone(veridical, table):
    first, second = (row["name"] for row in rows(table)[:2])
    done = veridical("list", table, first)
    assert done.returncode == 0
    assert done.stdout.split()[0] == first
    assert f"\n  {second}  " not in done.stdout


def test_details_are_data_too(veridical):
    told = json.loads(veridical("list", "metrics", "aopc", "--json").stdout)
    ((row,),) = told.values()
    assert row["name"] == "aopc"
    assert row["presets"] == {"scc": {}, "scc-5": {"words": 5}}
    words = row["options"][0]
    assert (words["name"], words["default"], words["takes"]) == (
        "words",
        10,
        "a whole number, 1 or more and at most 1000",
    )
    assert words["help"].endswith(".")
    whole = json.loads(veridical("list", "metrics", "--json").stdout)["metrics"]
    assert row in whole
    assert len(whole) == len(METRICS)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["explainers", "limee"], 2, "Did you mean 'lime'?"),
        (["all", "lime"], 2, "Write for example: veridical list explainers lime"),
        (["metrics", "--model", "runs/x"], 2, "--model is for explainers only"),
        (["--model", "runs/x"], 2, "--model is for explainers only"),
        (["explainers", "--model", "nowhere"], 3, "there is no folder nowhere"),
    ],
)
def test_mistakes(veridical, tmp_path, arguments, code, words):
    done = veridical("list", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert words in one_line(done.stderr)
    assert done.stdout == ""


def test_what_a_model_has_learned(veridical, tmp_path):
    EXPLAINERS.save(Lime(samples=50), tmp_path / "run" / "explainers" / "quick")
    shown = veridical("list", "explainers", "--model", "run", cwd=tmp_path)
    assert "explainers of run" in shown.stdout
    assert "run/explainers/quick" in shown.stdout
    assert "settings: lime(samples=50)" in one_line(shown.stdout)
    assert "occlusion" not in shown.stdout
    alone = veridical("list", "explainers", "run/explainers/quick", "--model", "run", cwd=tmp_path)
    assert "option" in alone.stdout
    rows = json.loads(veridical("list", "explainers", "--model", "run", "--json", cwd=tmp_path).stdout)["explainers"]
    assert [row["name"] for row in rows] == ["run/explainers/quick"]


def test_a_model_that_has_learned_no_explainer(veridical, tmp_path):
    shown = veridical("list", "explainers", "--model", ".", cwd=tmp_path)
    assert shown.returncode == 0
    assert "none" in shown.stdout
