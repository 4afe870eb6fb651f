"""A study is done, resumed and put together; all studies are well formed."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from veridical.audits.plan import methods_of, metrics_of
from veridical.audits.record import MODEL
from veridical.core.errors import CancelledError, StorageError, UsageError
from veridical.core.progress import Watch
from veridical.data import load
from veridical.data.loader import parse_name
from veridical.explainers import EXPLAINERS
from veridical.objectives import OBJECTIVES
from veridical.run.train import train
from veridical.studies import STUDIES, Figure, Preset, Sizes, Study, StudyData
from veridical.studies.reproduction import reproduce
from veridical.studies.results import as_json, markdown
from veridical.training import Schedule

DATA = "planted(train=120, length=6)"
SMALL = Study(
    name="small",
    title="Does it run?",
    variants={
        "plain": ("cross-entropy",),
        "other": ("saloss(lam=0.0)", "saloss(lam=5.0)"),
        "control": ("saloss(lam=0.0, salience=uniform)", "saloss(lam=5.0, salience=uniform)"),
    },
    follows={"control": "other"},
    methods="attention",
    metrics="decision-flip",
    attack="attack(finder=rules, lists=short)",
    likeness_method="attention",
    presets={
        "smoke": Preset(
            (
                StudyData(
                    "planted",
                    DATA,
                    Sizes(120, 30, 40, balanced=True),
                    audited=8,
                    attacked=10,
                    elsewhere={"longer": "planted(train=120, length=9):test[:8]"},
                    ratio=0.3,
                ),
            ),
            model="tiny",
            seeds=(0, 1),
            schedule=Schedule(epochs=1, checks=1),
            tune_on=6,
        )
    },
    published=(Figure("planted", "other", "decision-flip", "attention", 0.42),),
)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "runs"
    return folder, reproduce(SMALL, "smoke", folder, tables=folder.parent / "tables")


def line(results, variant, metric, place="planted", floor=False):
    wanted = (variant, metric, place, floor)
    (found,) = [
        each for each in results.lines if (each.variant, each.metric, each.place, each.method == "random") == wanted
    ]
    return found


def test_every_variant_is_measured_in_every_place(done):
    _, found = done
    for variant in SMALL.variants:
        for place in ("planted", "longer"):
            assert line(found, variant, "decision-flip", place).seeds == 2
            assert 0 <= line(found, variant, "likeness between seeds", place).mean <= 1
            assert 0 <= line(found, variant, "likeness before and after training", place).mean <= 1
        assert 0 <= line(found, variant, "test macro_f1").mean <= 1
        assert line(found, variant, "fresh macro_f1").seeds == 2
    (attacked,) = [each for each in found.lines if (each.variant, each.method) == ("other", "the model")]
    assert attacked.contrast.n <= 10


def test_a_control_takes_the_weight_of_what_it_controls_for(done):
    _, found = done
    chosen = found.objectives["planted"]
    assert SMALL.variants["other"].index(chosen["other"]) == SMALL.variants["control"].index(chosen["control"])


def test_the_parts_of_a_data_set_are_drawn_once_and_equally_by_class(done):
    folder, _ = done
    rows = [json.loads(line) for line in (folder / "planted" / "data" / "train.jsonl").read_text().splitlines()]
    assert Counter(row["label"] for row in rows).most_common()[0][1] <= 60
    assert len(load(f"{folder / 'planted' / 'data'}:dev")) == 30


def test_the_tables_are_written(done):
    folder, found = done
    tables = folder.parent / "tables"
    assert {path.name for path in tables.iterdir()} == {"small-smoke.md", "small-smoke.json"}
    assert (tables / "small-smoke.md").read_text() == markdown(found)
    assert json.loads((tables / "small-smoke.json").read_text()) == json.loads(json.dumps(as_json(found)))
    assert not (folder / "small-smoke.md").exists()
    record = json.loads((folder / "run.json").read_text())
    assert (record["job"], record["study"], record["size"], record["done"]) == ("reproduce", "small", "smoke", True)


def test_variants_are_compared_with_the_first_and_with_the_paper(done):
    _, found = done
    assert line(found, "plain", "decision-flip").contrast is None
    tested = line(found, "other", "decision-flip")
    assert tested.contrast is not None
    assert tested.contrast.n == 8
    assert tested.contrast.mean == pytest.approx(line(found, "plain", "decision-flip").mean - tested.mean)
    assert tested.published == 0.42
    chance = line(found, "other", "decision-flip", floor=True)
    assert 0 < chance.mean <= 1
    assert chance.contrast is None
    assert line(found, "other", "decision-flip", "longer").published is None


def test_one_of_several_objectives_is_chosen_on_the_dev_split(done):
    folder, found = done
    assert found.objectives["planted"]["other"] in SMALL.variants["other"]
    assert (folder / "planted" / "other" / "saloss-lam-5-0" / "seed-0" / "audit-dev" / "audit.json").exists()


def made_in(folder):
    """What takes long to make, and when it was made; cards and records are written anew."""
    kinds = ("*.safetensors", "explanations*.parquet", "data/train.jsonl")
    return {path: path.stat().st_mtime_ns for kind in kinds for path in folder.rglob(kind)}


def test_the_same_call_again_finds_everything_done(done, monkeypatch):
    folder, found = done
    before, told, trained = made_in(folder), [], []

    def train_and_look(*arguments, **rest):
        trained.append(train(*arguments, **rest))
        return trained[-1]

    monkeypatch.setattr("veridical.studies.reproduction.train", train_and_look)
    again = reproduce(SMALL, "smoke", folder, watch=Watch(told.append))
    assert again.lines == found.lines
    assert len(trained) == 6  # two seeds of three variants
    assert all(each.was_done for each in trained)
    assert not [progress for progress in told if progress.what.endswith("training")]
    assert made_in(folder) == before
    assert len([path for path in before if path.suffix == ".safetensors"]) > len(trained)


def test_another_study_in_the_same_folder_is_refused(done):
    folder, _ = done
    with pytest.raises(UsageError, match="holds another run, which differs in: study"):
        reproduce("regex", "smoke", folder)


def test_a_damaged_record_is_named(tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(StorageError, match="run.json is damaged"):
        reproduce(SMALL, "smoke", tmp_path)


def test_a_study_that_was_cancelled_goes_on(tmp_path):
    def stop(progress):
        told.append(progress.what)
        if progress.what == "planted, cross-entropy, seed 1: training":
            watch.cancel()

    told, watch = [], Watch(stop)
    plain = replace(SMALL, variants={"plain": ("cross-entropy",)}, follows={}, attack=None, likeness_method=None)
    short = replace(plain.presets["smoke"].data_sets[0], sizes=None, elsewhere={}, ratio=None)
    plain = replace(plain, presets={"smoke": replace(plain.presets["smoke"], data_sets=(short,))})
    with pytest.raises(CancelledError):
        reproduce(plain, "smoke", tmp_path / "study", watch=watch)
    first = tmp_path / "study" / "planted" / "plain" / "seed-0" / "model" / "model.safetensors"
    before = first.stat().st_mtime_ns
    assert not list((tmp_path / "study").glob("small-smoke.*"))
    found = reproduce(plain, "smoke", tmp_path / "study")
    assert line(found, "plain", "decision-flip").seeds == 2
    assert first.stat().st_mtime_ns == before
    assert (tmp_path / "study" / "small-smoke.md").exists()


def test_the_table_has_numbers_marks_and_published_figures(done):
    _, found = done
    text = markdown(found)
    assert "## decision-flip" in text
    assert "- decision-flip, other: better in " in text
    assert "| planted |  | attention | other |" in text
    assert "| 0.42 |" in text
    assert "model tiny, 1 epochs in batches of 32, seeds 0, 1" in text
    assert "at most 120 / 30 / 40 texts drawn from train, dev and test of planted" in text
    assert as_json(found)["lines"][0]["data_set"] == "planted"


def test_an_unknown_paper_is_named(tmp_path):
    with pytest.raises(UsageError, match="unknown paper 'regx'.*Did you mean 'regex'"):
        reproduce("regx", "smoke", tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_an_unknown_size_is_named(tmp_path):
    with pytest.raises(UsageError, match="unknown size of small 'smok'.*Did you mean 'smoke'"):
        reproduce(SMALL, "smok", tmp_path)


@pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))
def test_studies_name_things_that_exist(study):
    assert set(study.presets) == {"smoke", "cpu", "full"}
    for objectives in study.variants.values():
        for objective in objectives:
            OBJECTIVES.create(objective)
    known = [EXPLAINERS.written(each) for each in methods_of(study.methods)[0]]
    assert metrics_of(study.metrics)
    for preset in study.presets.values():
        assert preset.data_sets
        for data_set in preset.data_sets:
            for name in (data_set.data, *data_set.elsewhere.values()):
                parse_name(name)
        assert len(preset.seeds) >= 2
    assert len(study.presets["cpu"].seeds) >= 3
    assert {each.variant for each in study.published} <= set(study.variants)
    assert {each.method for each in study.published} <= {*known, MODEL}
