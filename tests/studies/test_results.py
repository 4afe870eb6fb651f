"""Numbers of a study: means over seeds, contrasts with what variants are held against, families of tests."""

import math
from dataclasses import replace

import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.audits.statistics.samples import holm
from veridical.studies import Figure, Look, Preset, Sizes, Study, StudyData, Variant
from veridical.studies.results import as_sure_as, results_of
from veridical.studies.runs import SeedRun, judged_in, relabelled
from veridical.studies.study import LAYER, written_data_set
from veridical.training import Schedule

DOCUMENTS = [f"d{index}" for index in range(8)]
STUDY = Study(
    name="made",
    title="Is it added up?",
    variants={
        "plain": Variant(("cross-entropy",)),
        "other": Variant(("saloss",)),
        "control": Variant(("saloss(lam=0)",), control=True),
        "third": Variant(("regex",), against=("other",)),
    },
    looks={"reasons": Look("attention", "flip")},
    presets={
        "small": Preset((StudyData("mine", "mine.csv", variants=("plain", "other")),), model="tiny", seeds=(0, 1))
    },
    published=(Figure("mine", "other", "flip", "attention", 0.42),),
)
FLIP = AuditedMetric("flip(x=1)", {"name": "flip"}, greater_is_better=True)
TAGS = AuditedMetric("tags", {"name": "tags"}, greater_is_better=True, describes=True)


def audited(values, methods=("attention",), metrics=(FLIP,)):
    return Audit(
        model={"name": "tiny"},
        data="mine:test",
        documents=tuple(Document(name, "yes", 5) for name in DOCUMENTS[: len(values)]),
        methods=tuple(AuditedMethod(method, {"method": {"name": method}}) for method in methods),
        metrics=metrics,
        rows=tuple(
            Measurement(name, method, metric.name, value)
            for name, value in zip(DOCUMENTS, values, strict=False)
            for method in methods
            for metric in metrics
        ),
    )


def runs(variant, *seeds, place="mine", **rest):
    return [
        SeedRun("mine", place, variant, f"objective of {variant}", seed, judged_in(audited(values, **rest)))
        for seed, values in enumerate(seeds)
    ]


def found_of(*groups):
    return results_of(STUDY, "small", [run for group in groups for run in group])


PLAIN, OTHER = [0.1, 0.2] * 4, [0.5, 0.7] * 4


@pytest.fixture
def found():
    return found_of(runs("plain", PLAIN, PLAIN), runs("other", OTHER, [0.3] * 8))


def test_means_and_spread_over_seeds(found):
    plain, other = found.lines
    assert (plain.mean, plain.std, plain.seeds) == (pytest.approx(0.15), 0.0, 2)
    assert other.mean == pytest.approx((0.6 + 0.3) / 2)
    assert other.std == pytest.approx(0.3 / math.sqrt(2))


def test_variants_are_compared_by_document_after_averaging_over_seeds(found):
    plain, other = found.lines
    assert plain.contrast is None
    assert (other.contrast.n, other.contrast.mean) == (8, pytest.approx(0.15 - 0.45))
    assert (other.contrast.second, other.against, other.judged) == ("better", "plain", True)


def test_only_seeds_that_both_have_are_compared():
    _, other = found_of(runs("plain", PLAIN, [9.0] * 8), runs("other", OTHER)).lines
    assert other.contrast.mean == pytest.approx(0.15 - 0.6)
    assert (other.seeds, other.contrast.n) == (1, 8)


def test_a_variant_may_be_held_against_another_than_the_first():
    *_, third = found_of(runs("plain", PLAIN), runs("other", OTHER), runs("third", [0.4] * 8)).lines
    assert (third.against, third.contrast.mean) == ("other", pytest.approx(0.6 - 0.4))


def test_each_metric_is_a_family_of_its_own():
    second = replace(FLIP, name="second")
    alone = found_of(runs("plain", PLAIN, metrics=(FLIP,)), runs("other", OTHER, metrics=(FLIP,)))
    both = found_of(runs("plain", PLAIN, metrics=(FLIP, second)), runs("other", OTHER, metrics=(FLIP, second)))
    assert [line.contrast.adjusted for line in both.lines if line.contrast] == [alone.lines[1].contrast.adjusted] * 2


def test_all_methods_and_variants_of_a_metric_are_one_family():
    methods = ("attention", "occlusion")
    lines = found_of(
        runs("plain", PLAIN, methods=methods),
        runs("other", OTHER, methods=methods),
        runs("third", [0.1, 0.9] * 4, methods=methods),
    ).lines
    tested = [line.contrast for line in lines if line.contrast]
    assert len(tested) == 4
    assert [each.adjusted for each in tested] == holm([each.p for each in tested])
    assert tested[0].adjusted == pytest.approx(4 * tested[0].p)


def test_controls_and_metrics_that_describe_stand_outside_of_the_family():
    metrics = (FLIP, TAGS)
    lines = found_of(
        runs("plain", PLAIN, metrics=metrics),
        runs("other", OTHER, metrics=metrics),
        runs("control", OTHER, metrics=metrics),
    ).lines
    told = {(line.variant, line.metric): line for line in lines if line.contrast}
    assert {place for place, line in told.items() if line.judged} == {("other", "flip(x=1)")}
    assert len({line.contrast.p for line in told.values()}) == 1
    assert all(line.contrast.adjusted == line.contrast.p for line in told.values())


def test_the_floor_is_not_tested():
    methods = ("attention", "random")
    lines = found_of(runs("plain", PLAIN, methods=methods), runs("other", OTHER, methods=methods)).lines
    assert [line.method for line in lines if line.contrast] == ["attention"]


def test_a_variant_is_also_compared_with_a_base_that_is_as_sure():
    sure = as_sure_as("plain", "other")
    lines = found_of(runs("plain", PLAIN), runs("other", OTHER), runs(sure, [0.4] * 8)).lines
    assert [(line.variant, line.against) for line in lines] == [
        ("plain", None),
        ("other", "plain"),
        ("other", sure),
        (sure, None),
    ]
    assert lines[2].contrast.mean == pytest.approx(0.4 - 0.6)
    assert lines[1].contrast.adjusted == pytest.approx(2 * lines[1].contrast.p)  # both are of the family


def test_a_base_that_did_not_change_when_it_was_made_as_sure_is_left_out():
    lines = found_of(runs("plain", PLAIN), runs("other", OTHER), runs(as_sure_as("plain", "other"), PLAIN)).lines
    assert [(line.variant, line.against) for line in lines] == [("plain", None), ("other", "plain")]


def test_the_detectable_difference_is_that_of_the_family():
    lines = found_of(runs("plain", PLAIN), runs("other", [0.1, 0.9] * 4)).lines
    # 8 documents, level .05: (1.96 + 0.8416) / sqrt(8 * 3 / pi), times the standard deviation of 0 and -.7
    assert lines[1].detectable == pytest.approx(2.8016 / math.sqrt(8 * 3 / math.pi) * 0.35 * math.sqrt(8 / 7), rel=1e-4)
    methods = ("attention", "occlusion")
    more = found_of(runs("plain", PLAIN, methods=methods), runs("other", [0.1, 0.9] * 4, methods=methods)).lines
    assert more[-1].detectable > lines[1].detectable


def test_published_figures_are_of_the_data_that_was_trained_on(found):
    assert [line.published for line in found.lines] == [None, 0.42]
    elsewhere = found_of(runs("plain", PLAIN, place="far"), runs("other", OTHER, place="far"))
    assert [line.published for line in elsewhere.lines] == [None, None]


def test_a_seed_without_a_number_leaves_no_line():
    assert found_of(runs("plain", PLAIN, [math.nan] * 8)).lines == ()


def test_figures_of_models_are_lines_of_their_own():
    figures = [{("test macro_f1", ""): [0.8], ("likeness", "attention"): []}, {("test macro_f1", ""): [0.9]}]
    made = [SeedRun("mine", "mine", "plain", "x", seed, figures=each) for seed, each in enumerate(figures)]
    (line,) = results_of(STUDY, "small", made).lines
    assert (line.metric, line.mean, line.seeds) == ("test macro_f1", pytest.approx(0.85), 2)
    assert line.greater_is_better is None


def test_what_is_missing_is_told(found):
    assert found.missing == ()
    assert found_of(runs("plain", PLAIN, PLAIN), runs("other", OTHER)).missing == ("mine, other: 1 of 2 seeds",)
    assert found_of(runs("plain", PLAIN)).missing == ("mine, plain: 1 of 2 seeds", "mine, other: 0 of 2 seeds")


def test_sizes_in_words():
    preset = Preset((), seeds=(3,), schedule=Schedule(epochs=2, batch_size=8, rate=1e-5, head_rate=1e-4))
    assert preset.setting == "model embedded, 2 epochs in batches of 8, rates 1e-05 and 0.0001, seeds 3"
    assert "bfloat16" in replace(preset, schedule=Schedule(bf16=True)).setting
    part = StudyData(
        "x",
        "sst2",
        Sizes(1200, 300, 60, balanced=True),
        documents={"reasons": 5},
        elsewhere={"y": "imdb:test"},
        ratio=0.2,
    )
    assert written_data_set(part) == (
        "at most 1,200 / 300 / 60 texts drawn from train, dev and test of sst2, equally by class for training; "
        "5 test documents for reasons; elsewhere imdb:test; rationales of 20%"
    )
    whole = StudyData("x", "sst2", settings={"max_length": 64}, schedule=Schedule(epochs=3, batch_size=4))
    assert written_data_set(whole) == ("the whole of sst2; all of test; max_length 64; 3 epochs; batches of 4")
    assert "dev from sst2:dev[:9]" in written_data_set(replace(whole, sources={"dev": "sst2:dev[:9]"}))
    other = replace(whole, model="tiny", schedule=Schedule(epochs=3, batch_size=4, rate=1e-5, head_rate=1e-4))
    assert written_data_set(other) == (
        "the whole of sst2; all of test; max_length 64; model tiny; 3 epochs; batches of 4; rates 1e-05 and 0.0001"
    )


def test_a_variant_may_be_held_against_several_others():
    study = replace(STUDY, variants={**STUDY.variants, "third": Variant(("regex",), against=("plain", "other"))})
    made = [*runs("plain", PLAIN), *runs("other", OTHER), *runs("third", [0.6] * 8)]
    lines = [line for line in results_of(study, "small", made).lines if line.variant == "third"]
    assert [(line.against, round(line.contrast.mean, 2)) for line in lines] == [("plain", -0.45), ("other", 0.0)]


def test_what_a_variant_has_alone_is_compared_with_those_that_have_it():
    study = replace(STUDY, variants={**STUDY.variants, "third": Variant(("regex",), against=("plain", "other"))})
    made = [*runs("plain", PLAIN), *runs("other", OTHER, methods=("layer",)), *runs("third", PLAIN, methods=("layer",))]
    (line,) = [line for line in results_of(study, "small", made).lines if line.variant == "third"]
    assert (line.method, line.against) == ("layer", "other")


def test_layers_and_folders_have_the_names_of_the_study():
    metrics = (replace(FLIP, name="flip(by=runs/a/model)"),)
    judged = judged_in(audited(PLAIN, ("scc", "lime"), metrics))
    found = relabelled(judged, "scc", {"runs/a/model": "judge"})
    assert [(each.metric.name, each.method) for each in found] == [
        ("flip(by=judge)", LAYER),
        ("flip(by=judge)", "lime"),
    ]
    assert list(found[0].values) == PLAIN
    assert relabelled(judged, None, {}) == judged


def test_a_look_is_taken_where_everything_it_names_is_there():
    look = Look("{layer}, lime", "flip(by={judge})")
    assert look.asked(Variant((), layer="scc"), {"judge": "runs/x"}) == Look("scc, lime", "flip(by=runs/x)")
    assert look.asked(Variant(()), {"judge": "runs/x"}) is None
    assert look.asked(Variant((), layer="scc"), {}) is None


def test_curves_are_averaged_over_seeds_and_have_intervals():
    steps = replace(FLIP, steps=(1.0, 2.0))

    def stepped(values, shift):
        found = audited(values, metrics=(steps,))
        return replace(found, rows=tuple(replace(row, curve=(row.value, row.value + shift)) for row in found.rows))

    made = [
        SeedRun("mine", "mine", "plain", "x", seed, judged_in(stepped(PLAIN, shift)))
        for seed, shift in enumerate((0.2, 0.4))
    ]
    (found,) = results_of(STUDY, "small", made).curves
    assert (found.variant, found.curve.metric, found.curve.steps) == ("plain", steps.name, (1.0, 2.0))
    first, second = found.curve.estimates
    assert (first.mean, second.mean) == (pytest.approx(0.15), pytest.approx(0.45))
    assert first.low < first.mean < first.high
    assert results_of(STUDY, "small", runs("plain", PLAIN)).curves == ()
