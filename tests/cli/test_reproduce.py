"""`veridical reproduce`, as a user meets it: a study of planted data that takes seconds."""

import json

import pytest

from veridical.core.study_names import STUDY_SIZES
from veridical.studies import STUDIES, Figure, Look, Preset, Study, StudyData, Variant
from veridical.training import Schedule

TINY = Study(
    name="tiny",
    title="Does it run?",
    variants={"plain": Variant(("cross-entropy",)), "smooth": Variant(("cross-entropy(smoothing=0.1)",))},
    looks={"reasons": Look("attention", "decision-flip")},
    presets={
        "smoke": Preset(
            (StudyData("planted", "planted(train=60, length=5)", documents={"reasons": 6}),),
            model="tiny",
            seeds=(0, 1),
            schedule=Schedule(epochs=1, checks=1),
        )
    },
    published=(Figure("planted", "smooth", "decision-flip", "attention", 0.42),),
)


def test_the_help_names_every_study_and_its_sizes(veridical):
    known = {name: tuple(each.presets) for name, each in STUDIES.items() if name != "tiny"}
    assert known == STUDY_SIZES
    done = veridical("reproduce", "--help")
    words = " ".join(done.stdout.split())
    assert "l2e: smoke, cpu, cpu-others, cpu-reasons, cpu-budget, full" in words


@pytest.fixture(autouse=True)
def study(monkeypatch):
    monkeypatch.setitem(STUDIES, "tiny", TINY)


def test_tables_are_printed_and_written(veridical, tmp_path):
    done = veridical("reproduce", "tiny", "--preset", "smoke", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "decision-flip, smooth against plain: better in 0, worse in 0, cannot tell in 1" in done.stdout
    assert "0.42 published" in done.stdout
    table = tmp_path / "runs" / "tiny-smoke" / "tiny-smoke.md"
    assert f"The tables are in {table}" in done.stdout.replace("\n", "")
    assert "| planted | attention | smooth |" in table.read_text()

    again = veridical("reproduce", "tiny", "--preset", "smoke", "--results", "tables", "--json", cwd=tmp_path)
    told = json.loads(again.stdout)
    assert {line["variant"] for line in told["lines"]} == {"plain", "smooth", "plain, as sure as smooth"}
    assert told == json.loads((tmp_path / "tables" / "tiny-smoke.json").read_text())
    assert (tmp_path / "tables" / "tiny-smoke.md").read_text() == table.read_text()
    assert "dev: loss" not in again.stderr  # nothing was trained again


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tinny", "--preset", "smoke"], "unknown paper 'tinny'. Did you mean 'tiny'?"),
        (["tiny", "--preset", "smok"], "unknown size of tiny 'smok'. Did you mean 'smoke'?"),
    ],
)
def test_wrong_names_end_with_2(veridical, tmp_path, arguments, words):
    done = veridical("reproduce", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_record_ends_with_5(veridical, tmp_path):
    (tmp_path / "run.json").write_text("{")
    done = veridical("reproduce", "tiny", "--preset", "smoke", "--out", tmp_path)
    assert done.returncode == 5
    assert "run.json is damaged" in done.stderr
