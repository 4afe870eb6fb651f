"""A study is done, resumed and put together; all studies are well formed."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

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
from veridical.studies import STUDIES, Figure, Look, Preset, Sizes, Study, StudyData, Variant, reproduction
from veridical.studies.distillations import DistillationStudy
from veridical.studies.reproduction import reproduce
from veridical.studies.runs import read_runs, write_runs
from veridical.studies.scaffolds import ScaffoldStudy
from veridical.studies.scc import SCC
from veridical.studies.study import LAYER, data_of
from veridical.studies.tables import as_json, markdown
from veridical.studies.trainings import StudyRuns
from veridical.training import Schedule

DATA = "planted(train=120, length=6)"
SMALL = Study(
    name="small",
    title="Does it run?",
    variants={
        "plain": Variant(("cross-entropy",)),
        "other": Variant(("saloss(lam=0.0)", "saloss(lam=5.0)")),
        "control": Variant(
            ("saloss(lam=0.0, salience=uniform)", "saloss(lam=5.0, salience=uniform)"),
            follows="other",
            matched=False,
            control=True,
        ),
        "shorter": Variant(("saloss(lam=1.0)",), {"max_length": 6}, against=("other",)),
    },
    looks={
        "reasons": Look("attention", "decision-flip, comprehensiveness"),
        "attacks": Look("random", "attack(finder=rules, lists=short)"),
    },
    likeness_method="attention",
    presets={
        "smoke": Preset(
            (
                StudyData(
                    "planted",
                    DATA,
                    Sizes(120, 30, 40, balanced=True),
                    documents={"reasons": 8, "attacks": 10},
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

UNHURT = {"reasons": SMALL.looks["reasons"]}


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


def test_models_are_made_as_sure_as_those_that_are_compared_with_them(done):
    _, found = done
    for place in ("planted", "longer"):
        sure = [line(found, name, "confidence", place).mean for name in ("shorter", "other, as sure as shorter")]
        assert sure[0] == pytest.approx(sure[1], abs=1e-3)
    tested = [each for each in found.lines if (each.variant, each.metric) == ("shorter", "comprehensiveness")]
    assert {each.against for each in tested if each.contrast} == {"other", "other, as sure as shorter"}
    assert line(found, "shorter", "decision-flip").against == "other"  # flips do not change with a temperature
    assert not [each for each in found.lines if each.variant == "plain, as sure as control"]


def test_settings_of_a_variant_are_those_of_its_models(done):
    folder, found = done
    record = json.loads((folder / "planted" / "shorter" / "seed-0" / "model" / "veridical.json").read_text())
    assert record["max_length"] == 6
    assert line(found, "shorter", "decision-flip").against == "other"
    assert (folder / "planted" / "untrained-shorter" / "seed-1" / "model").is_dir()


def test_a_control_takes_the_weight_of_what_it_controls_for(done):
    _, found = done
    chosen = found.objectives["planted"]
    other, control = SMALL.variants["other"].objectives, SMALL.variants["control"].objectives
    assert other.index(chosen["other"]) == control.index(chosen["control"])


class Tuning:
    """Stands in for choosing by training: of the candidates, the one that comes first in an order wins."""

    def __init__(self, *order):
        self.order = order
        self.asked = []

    def __call__(self, data, out, candidates, **_):
        self.asked.append(len(candidates))
        best = min(candidates, key=self.order.index)
        return SimpleNamespace(candidates=list(candidates), best=best)


@pytest.mark.parametrize(
    ("order", "asked", "best"),
    [
        ("abcd", [2], "a"),  # not at the edge
        ("bacd", [2, 3], "b"),  # one more shows that the edge was the best
        ("dcba", [2, 3, 4], "d"),  # still at the edge, but there is no more
        ("cdba", [2, 3, 4], "c"),
        ("acbd", [2], "a"),  # what was never tried cannot win
    ],
)
def test_while_the_last_candidate_wins_further_ones_are_tried(monkeypatch, tmp_path, order, asked, best):
    tuning = Tuning(*order)
    monkeypatch.setattr("veridical.studies.trainings.choose", tuning)
    variants = {
        "plain": Variant(("cross-entropy",)),
        "tuned": Variant(("a", "b"), further=("c", "d")),
        "follower": Variant(("A", "B"), further=("C", "D"), follows="tuned"),
    }
    study = replace(SMALL, variants=variants)
    doing = StudyRuns(study, study.presets["smoke"], tmp_path, Watch())
    (data_set,) = study.presets["smoke"].data_sets
    assert doing._tuned(data_set, DATA, "tuned") == best
    assert tuning.asked == asked
    assert doing._tuned(data_set, DATA, "follower") == best.upper()


def test_further_candidates_are_trained_beside_the_others(tmp_path):
    further = ("saloss(lam=0.5)", "saloss(lam=0.25)")
    variants = {"plain": Variant(("cross-entropy",)), "other": replace(SMALL.variants["other"], further=further)}
    study = replace(SMALL, variants=variants, looks=UNHURT, likeness_method=None)
    preset = study.presets["smoke"]
    (data_set,) = preset.data_sets
    candidates = [*SMALL.variants["other"].objectives, *further]
    best = StudyRuns(study, preset, tmp_path, Watch())._tuned(data_set, DATA, "other")
    choice = json.loads((tmp_path / "planted" / "other" / "choice.json").read_text())
    tried = [OBJECTIVES.create(each["objective"]) for each in choice["candidates"]]
    assert tried == [OBJECTIVES.create(each) for each in candidates[: len(tried)]]
    assert candidates.index(best) < len(tried) - 1 or len(tried) == len(candidates)
    assert OBJECTIVES.create(choice["best"]["objective"]) == OBJECTIVES.create(best)


def test_a_data_set_may_have_its_own_model_and_a_size_its_own_ways_to_train(tmp_path):
    base = Preset(
        (StudyData("planted", DATA, documents={"reasons": 4}),), seeds=(0, 1), schedule=Schedule(epochs=1, checks=1)
    )
    plain = Variant(("cross-entropy",))
    study = replace(
        SMALL,
        variants={"plain": plain, "other": Variant(("saloss(lam=0.0)",))},
        looks=UNHURT,
        presets={
            "smoke": replace(
                base,
                data_sets=(replace(base.data_sets[0], model="tiny"),),
                model="no/such-model",
                variants={"other": Variant(("cross-entropy(smoothing=0.1)",))},
            )
        },
        published=(),
    )
    found = reproduce(study, "smoke", tmp_path)
    assert found.objectives["planted"]["other"] == "cross-entropy(smoothing=0.1)"
    record = json.loads((tmp_path / "planted" / "other" / "seed-0" / "model" / "run.json").read_text())
    assert record["model"] == "tiny"
    assert OBJECTIVES.from_spec(record["objective"]) == OBJECTIVES.create("cross-entropy(smoothing=0.1)")


def test_the_settings_of_the_papers_are_those_of_the_full_size():
    assert STUDIES["regex"].in_size("full").variants["regex"].objectives == ("regex(preset=paper)",)
    assert STUDIES["regex"].in_size("cpu").variants["regex"].objectives == ("regex",)
    saloss = STUDIES["saloss"]
    weights = [OBJECTIVES.create(each).lam for each in saloss.variants["saloss"].objectives]
    assert weights == [1e-2, 1e-3, 1e-4]
    assert len(saloss.variants["saloss"].further) == 2
    preset = saloss.presets["full"]
    told = {
        each.name: (each.model or preset.model, each.schedule.rate, each.schedule.head_rate, each.schedule.batch_size)
        for each in preset.data_sets
    }
    bert = "google-bert/bert-base-uncased"
    assert told == {
        "sst2": (bert, 1e-5, 1e-4, 8),
        "ag_news": (bert, 1e-5, 1e-4, 4),
        "evidence_inference": ("allenai/scibert_scivocab_uncased", 5e-6, 2e-4, 4),
        "multirc": ("FacebookAI/roberta-base", 2e-6, 2e-4, 4),
    }


def test_the_parts_of_a_data_set_are_drawn_once_and_equally_by_class(done):
    folder, _ = done
    rows = [json.loads(line) for line in (folder / "planted" / "data" / "train.jsonl").read_text().splitlines()]
    assert Counter(row["label"] for row in rows).most_common()[0][1] <= 60
    assert len(load(f"{folder / 'planted' / 'data'}:dev")) == 30


def test_a_split_may_come_from_other_data(tmp_path):
    sources = {"train": "planted(train=40, length=6):dev[:10]", "dev": "planted(train=40, length=6):dev[10:]"}
    taken = StudyData("mine", "planted(train=40, length=6)", sources=sources)
    folder = data_of(taken, tmp_path / "all")
    whole = load("planted(train=40, length=6):dev")
    assert [each.id for each in load(f"{folder}:train")] == [each.id for each in whole][:10]
    assert len(load(f"{folder}:train")) + len(load(f"{folder}:dev")) == len(whole)
    assert len(load(f"{folder}:test")) == len(load("planted(train=40, length=6):test"))
    some = data_of(replace(taken, sizes=Sizes(5, 4, 3)), tmp_path / "some")
    assert [len(load(f"{some}:{split}")) for split in ("train", "dev", "test")] == [5, 4, 3]


def test_the_tables_are_written(done):
    folder, found = done
    tables = folder.parent / "tables"
    assert {path.name for path in tables.iterdir()} == {
        f"small-smoke.{ending}" for ending in ("md", "json", "html", "parquet")
    }
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
    assert found.objectives["planted"]["other"] in SMALL.variants["other"].objectives
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

    monkeypatch.setattr("veridical.studies.trainings.train", train_and_look)
    again = reproduce(SMALL, "smoke", folder, watch=Watch(told.append))
    assert again.lines == found.lines
    assert len(trained) == 8  # two seeds of four variants
    assert all(each.was_done for each in trained)
    assert not [progress for progress in told if progress.what.endswith("training")]
    assert made_in(folder) == before
    assert len([path for path in before if path.suffix == ".safetensors"]) > len(trained)


def without_likeness(results):
    return [line for line in results.lines if not line.metric.startswith("likeness between")]


def test_a_study_goes_on_from_its_numbers_where_its_models_are_not(done, tmp_path, monkeypatch):
    folder, found = done
    shutil.copytree(folder.parent / "tables", tmp_path / "tables")
    monkeypatch.setattr("veridical.studies.trainings.train", None)  # nothing is trained
    again = reproduce(SMALL, "smoke", tmp_path / "elsewhere", tables=tmp_path / "tables")
    for one, other in zip(without_likeness(again), without_likeness(found), strict=True):
        assert replace(one, contrast=None, mean=0, std=0, detectable=0) == replace(
            other, contrast=None, mean=0, std=0, detectable=0
        )
        assert (one.mean, one.std) == pytest.approx((other.mean, other.std))
    assert again.objectives == found.objectives


def test_a_seed_that_is_not_whole_is_done_again(done, tmp_path):
    folder, found = done
    (tmp_path / "tables").mkdir()
    whole, told = folder.parent / "tables" / "small-smoke.parquet", reproduction._told(SMALL, "smoke")
    runs = read_runs(whole, told)
    part = [run for run in runs if run.seed == 0 or run.variant == "plain"]
    write_runs(tmp_path / "tables" / whole.name, told, part)
    again = reproduce(SMALL, "smoke", tmp_path / "elsewhere", tables=tmp_path / "tables")
    assert again.missing == ()
    assert not (tmp_path / "elsewhere" / "planted" / "plain" / "seed-0").exists()
    assert (tmp_path / "elsewhere" / "planted" / "plain" / "seed-1" / "model" / "run.json").exists()
    for variant in SMALL.variants:
        assert line(again, variant, "decision-flip").mean == pytest.approx(line(found, variant, "decision-flip").mean)


def test_of_a_seed_that_is_not_whole_no_more_is_done_again_than_is_needed(done, tmp_path):
    folder, found = done
    (tmp_path / "tables").mkdir()
    whole, told = folder.parent / "tables" / "small-smoke.parquet", reproduction._told(SMALL, "smoke")
    last = list(SMALL.variants)[-1]
    lost = [last, f"{SMALL.bases_of(last)[0]}, as sure as {last}"]
    runs = [run for run in read_runs(whole, told) if run.seed == 0 or run.variant not in lost]
    write_runs(tmp_path / "tables" / whole.name, told, runs)
    again = reproduce(SMALL, "smoke", tmp_path / "elsewhere", tables=tmp_path / "tables")
    assert again.missing == ()
    place = tmp_path / "elsewhere" / "planted"
    trained = {each.name for each in place.iterdir() if list(each.glob("**/seed-1/model/run.json"))}
    assert trained == {last, *SMALL.needed_by(last)}
    assert trained < set(SMALL.variants)
    for variant in SMALL.variants:
        assert line(again, variant, "decision-flip").mean == pytest.approx(line(found, variant, "decision-flip").mean)


def test_a_variant_needs_what_it_begins_with_is_compared_with_and_judged_by():
    assert SCC.needed_by("base") == set()
    assert SCC.needed_by("simcse") == set()
    assert SCC.needed_by("l2x") == {"evaluator"}
    assert SCC.needed_by("scc") == {"evaluator", "base"}  # made as sure as it
    assert SCC.needed_by("base-longer") == {"base"}


def test_numbers_that_are_not_reached_again_are_not_lost(done):
    runs = read_runs(done[0].parent / "tables" / "small-smoke.parquet", reproduction._told(SMALL, "smoke"))
    first = [run for run in runs if run.seed == 0]
    later = reproduction._not_reached(runs, first)
    assert {run.seed for run in later} == {1}
    assert len(later) + len(first) == len(runs)


def test_numbers_of_another_study_are_refused(done, tmp_path):
    shutil.copytree(done[0].parent / "tables", tmp_path / "tables")
    other = replace(SMALL, looks={**SMALL.looks, "reasons": Look("attention", "decision-flip")})
    with pytest.raises(UsageError, match="numbers of another study, or of other settings"):
        reproduce(other, "smoke", tmp_path / "elsewhere", tables=tmp_path / "tables")


def test_a_damaged_file_of_numbers_is_named(tmp_path):
    (tmp_path / "small-smoke.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(StorageError, match="small-smoke.parquet is damaged"):
        reproduce(SMALL, "smoke", tmp_path / "elsewhere", tables=tmp_path)


def test_layers_are_looked_at_by_one_name_and_shown_side_by_side(tmp_path):
    study = Study(
        name="layers",
        title="What does each keep?",
        variants={
            "plain": Variant(("cross-entropy",)),
            "vmask": Variant(("vmask",), matched=False, layer="vmask"),
            "l2x": Variant(("l2x",), against=("plain", "vmask"), matched=False, layer="l2x", after="plain"),
        },
        looks={
            "reasons": Look("attention", "decision-flip"),
            "layers": Look("{layer}", "post-hoc-accuracy(curve=[1, 2])"),
            "others": Look("{layer}", "position-leak"),
        },
        presets={
            "smoke": replace(SMALL.presets["smoke"], data_sets=(StudyData("mine", DATA, documents={"layers": 6}),))
        },
        best_by="accuracy",
    )
    found = reproduce(study, "smoke", tmp_path)
    lines = [each for each in found.lines if each.method == LAYER]
    assert {each.variant for each in lines} == {"vmask", "l2x"}  # the first has no layer
    assert {each.against for each in lines if each.contrast} == {"vmask"}
    assert {each.variant for each in found.curves if each.curve.method == LAYER} == {"vmask", "l2x"}
    assert line(found, "vmask", "test masked_accuracy", "mine").seeds == 2
    begun = json.loads((tmp_path / "mine" / "l2x" / "seed-1" / "model" / "run.json").read_text())["model"]
    assert begun == str(tmp_path / "mine" / "plain" / "seed-1" / "model")
    page = (tmp_path / "layers-smoke-mine.html").read_text()
    assert all(f">{name}<" in page for name in study.variants)  # models are called as in the study
    assert "32 explanations of 20 examples" in page  # 20 by attention, and 6 by each layer


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
        if progress.what == "planted, plain, cross-entropy, seed 1: training":
            watch.cancel()

    told, watch = [], Watch(stop)
    plain = replace(SMALL, variants={"plain": Variant(("cross-entropy",))}, looks=UNHURT, likeness_method=None)
    short = replace(plain.presets["smoke"].data_sets[0], sizes=None, elsewhere={}, ratio=None)
    plain = replace(plain, presets={"smoke": replace(plain.presets["smoke"], data_sets=(short,))})
    with pytest.raises(CancelledError):
        reproduce(plain, "smoke", tmp_path / "study", watch=watch)
    first = tmp_path / "study" / "planted" / "plain" / "seed-0" / "model" / "model.safetensors"
    before = first.stat().st_mtime_ns
    table = tmp_path / "study" / "small-smoke.md"
    assert "- planted, plain: 1 of 2 seeds" in table.read_text()
    found = reproduce(plain, "smoke", tmp_path / "study")
    assert line(found, "plain", "decision-flip").seeds == 2
    assert first.stat().st_mtime_ns == before
    assert found.missing == ()
    assert "Not finished" not in table.read_text()


def test_the_table_has_numbers_marks_and_published_figures(done):
    _, found = done
    text = markdown(found)
    assert "## decision-flip" in text
    assert "- decision-flip, other against plain: better in " in text
    assert "| planted | attention | other |" in text
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


OF_STUDENTS = (DistillationStudy, ScaffoldStudy)
TRAININGS = {name: study for name, study in STUDIES.items() if not isinstance(study, OF_STUDENTS)}


@pytest.mark.parametrize("study", TRAININGS.values(), ids=list(TRAININGS))
def test_studies_name_things_that_exist(study):
    assert {"smoke", "cpu", "full"} <= set(study.presets)
    for size, preset in study.presets.items():
        assert set(preset.variants) <= set(study.variants)
        for variant in study.in_size(size).variants.values():
            for objective in variant.candidates:
                OBJECTIVES.create(objective)
            assert {variant.follows, *variant.against} <= {None, *study.variants}
            assert variant.layer is None or variant.layer in EXPLAINERS
            assert variant.after is None or variant.after in study.variants
    known = {LAYER, MODEL}
    for size, preset in study.presets.items():
        sized = study.in_size(size)
        for look in sized.looks.values():
            asked = look.asked(Variant((), layer="scc"), dict.fromkeys([*study.variants, "fresh"], "folder"))
            known |= {EXPLAINERS.written(each) for each in methods_of(asked.methods)[0]}
            assert metrics_of(asked.metrics)
        main = sized.looks[sized.main]
        assert main.asked(Variant(()), {}) == main  # every variant is looked at in this way
        assert preset.data_sets
        for data_set in preset.data_sets:
            for name in (data_set.data, *data_set.elsewhere.values()):
                parse_name(name)
            names = study.variants_on(data_set)
            assert study.first in names
            for at, name in enumerate(names):  # what a model begins with, or is made as sure as, is there before it
                variant = sized.variants[name]
                assert variant.after in {None, *names[:at]}
                assert not variant.matched or set(sized.bases_of(name)[:1]) <= set(names[:at])
            assert set(data_set.variants) <= set(study.variants)
            assert set(data_set.documents) <= set(sized.looks)
        assert len(preset.seeds) >= 2
    assert len(study.presets["cpu"].seeds) >= 3
    assert {each.variant for each in study.published} <= set(study.variants)
    assert {each.method for each in study.published} <= known


def test_published_figures_of_scc_stand_where_they_can_be_compared():
    known = {(each.data_set, each.variant, each.metric.partition("(")[0]): each.value for each in SCC.published}
    assert len(known) == len(SCC.published)
    for data_set in ("sst2", "sst2_glue"):
        assert known[data_set, "base", "aopc"] == 0.3004
        assert known[data_set, "scc", "post-hoc-accuracy"] == 0.8583
    assert known["sst2_glue", "no-contrast", "post-hoc-accuracy"] == 0.7403
    scitail = {name: known["scitail", name, "post-hoc-accuracy"] for name in ("l2x", "iba", "vmask", "scc")}
    assert scitail == {"l2x": 0.5931, "iba": 0.5426, "vmask": 0.5893, "scc": 0.6213}


def test_the_leak_of_fresh(tmp_path):
    """The look at the rationales that one model cuts and another one reads, on made data."""
    preset = SCC.presets["cpu-fresh"]
    (data_set,) = preset.data_sets
    made = replace(data_set, name="planted", data=DATA, sizes=None, settings={}, documents={"leaks": 12})
    quick = replace(preset, data_sets=(made,), model="tiny", seeds=(0, 1), schedule=Schedule(epochs=1, checks=1))
    found = reproduce(replace(SCC, presets={"quick": quick}), "quick", tmp_path)
    leaks = [each for each in found.lines if each.metric.startswith("evaluator-leak") and each.variant == "base"]
    assert {each.method for each in leaks} == {"attention", "random(seed=1)"}
    assert {each.seeds for each in leaks} == {2}
    assert {each.metric for each in leaks} == {"evaluator-leak(evaluator=evaluator, reader=fresh, eraser=delete)"}
