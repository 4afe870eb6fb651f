"""The study of SMaT: all it measures in its smallest size, going on without models, and names that exist."""

from dataclasses import replace

import pytest

from veridical import EXPLAINERS, Classifier, load_data
from veridical.data.loader import parse_name
from veridical.metrics import METRICS
from veridical.studies import STUDIES
from veridical.studies.distillations import BLACK_BOX
from veridical.studies.reproduction import reproduce
from veridical.studies.results import results_of
from veridical.studies.runs import SeedRun
from veridical.studies.scaffolds import IN_USE, NEW, OWN, PLAUSIBLE, POOL, RIGHT, plausible_heads
from veridical.studies.smat import SMAT

SMOKE = SMAT.presets["smoke"]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smat")
    preset = replace(SMOKE, students=replace(SMOKE.students, epochs=2, patience=2))
    study = replace(SMAT, presets={"smoke": preset})
    return study, folder, reproduce(study, "smoke", folder / "runs", tables=folder / "tables")


def line(found, variant, metric):
    return next(each for each in found.lines if (each.variant, each.metric) == (variant, metric))


def test_all_of_it_is_measured(done):
    _, _, found = done
    for variant in ("none", "attention-all-layers", "smat"):
        assert 0 <= line(found, variant, "simulability").mean <= 1
        assert line(found, variant, "simulability").seeds == 2
        assert line(found, variant, "simulability").method == NEW
        assert 0 <= line(found, variant, RIGHT).mean <= 1
    assert line(found, "smat", "simulability").against in ("none", "attention-all-layers")
    assert line(found, "smat", "simulability").contrast is not None
    assert 0 <= line(found, "smat", OWN).mean <= 1
    assert 1 <= line(found, "smat", IN_USE).mean <= 8
    assert line(found, "none", BLACK_BOX).mean > 0.9
    assert not [each for each in found.lines if each.variant == "none" and each.metric.startswith("rationale-auc(")]
    best = line(found, "none", "rationale-auc of the best head, by the answers").mean
    assert best >= line(found, "attention-all-layers", "rationale-auc").mean - 0.2
    assert not found.missing


def test_the_numbers_are_enough_without_the_models(done, tmp_path):
    study, folder, found = done
    again = reproduce(study, "smoke", tmp_path / "runs", tables=folder / "tables")
    assert [each.mean for each in again.lines] == pytest.approx([each.mean for each in found.lines], abs=1e-6)
    assert not [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]


def test_a_head_alone_is_as_plausible_as_its_explainer(trained):
    classifier = Classifier.load(trained)
    examples = load_data("planted(length=8):test[:12]").examples
    found = plausible_heads(classifier, examples, at_once=5)
    assert found.shape == (8,)
    from veridical import audit
    from veridical.explainers import AttentionMixture

    explainer = AttentionMixture(layers=2, heads=4, weighing="none", pieces="mean")
    explainer.mixture.phi.data = 1.0 * (explainer.mixture.phi.data * 0)
    explainer.mixture.phi.data[5] = 1.0
    judged = audit(classifier, examples, [explainer], "rationale-auc", timed=0)
    name = next(each.name for each in judged.methods if each.name.startswith("attention-mixture"))
    assert float(found[5]) == pytest.approx(judged.values("rationale-auc", name).mean(), abs=1e-6)


def test_quartiles_over_seeds_are_those_of_the_paper():
    runs = [
        SeedRun("d", "d", "none", "none", seed, figures={("x", ""): [value]})
        for seed, value in enumerate((81.2, 83.4, 82.5, 80.9, 84.0))
    ]
    [found] = results_of(SMAT, "smoke", runs).lines
    assert found.quartiles == pytest.approx((81.2, 82.5, 83.4))
    [found] = results_of(SMAT, "smoke", runs[:3]).lines
    assert found.quartiles is None


def test_the_study_names_things_that_exist():
    assert STUDIES["smat"] is SMAT
    assert {"smoke", "cpu", "cpu-quality", "cpu-images", "full"} <= set(SMAT.presets)
    for variant in SMAT.variants.values():
        if variant.method:
            EXPLAINERS.create(variant.method)
        assert set(variant.against) <= set(SMAT.variants)
    for preset in SMAT.presets.values():
        for data_set in preset.data_sets:
            assert set(SMAT.variants_on(data_set)) <= set(SMAT.variants)
            assert {POOL} <= set(data_set.sources) <= {POOL, "dev", "test", PLAUSIBLE}
            for name in (data_set.data, *data_set.sources.values()):
                parse_name(name)
    for figure in SMAT.published:
        assert figure.variant in SMAT.variants
        assert figure.metric.partition("(")[0] in METRICS or figure.metric == OWN


def test_those_who_teach_and_those_who_taught_the_model_are_others():
    """The texts of the pool are no part of the model's training data."""
    for size in ("smoke", "cpu-images"):
        data_set = SMAT.presets[size].data_sets[0]
        taught, pool = ({each.id for each in load_data(name)} for name in (data_set.data, data_set.sources[POOL]))
        assert taught
        assert pool
        assert not taught & pool
