"""Numbers of a study: means over seeds, contrasts with the first variant, published figures, tables."""

import json
import math
from dataclasses import replace

import pytest

from veridical.audits import Audit, AuditedMethod, AuditedMetric, Document, Measurement
from veridical.studies import Figure, Preset, Study, StudyData
from veridical.studies.results import VariantRuns, as_json, markdown, results_of, table_file, write_tables
from veridical.studies.study import Sizes, written_data_set, written_preset
from veridical.training import Schedule

DOCUMENTS = [f"d{index}" for index in range(8)]
STUDY = Study(
    name="made",
    title="Is it added up?",
    variants={"plain": ("cross-entropy",), "other": ("saloss",)},
    methods="attention",
    metrics="flip",
    presets={"small": Preset((StudyData("mine", "mine.csv"),), model="tiny", seeds=(0, 1))},
    published=(Figure("mine", "other", "flip", "attention", 0.42),),
)


def audited(values, method="attention"):
    known = list(zip(DOCUMENTS, values, strict=False))
    return Audit(
        model={"name": "tiny"},
        data="mine:test",
        documents=tuple(Document(name, "yes", 5) for name, _ in known),
        methods=(AuditedMethod(method, {"method": {"name": method}}),),
        metrics=(AuditedMetric("flip(x=1)", {"name": "flip"}, greater_is_better=True),),
        rows=tuple(
            Measurement(name, method, "flip(x=1)", value) for name, value in zip(DOCUMENTS, values, strict=False)
        ),
    )


def runs(variant, *seeds, place="mine", **rest):
    return VariantRuns(
        "mine", place, variant, f"objective of {variant}", tuple(audited(each) for each in seeds), **rest
    )


PLAIN, OTHER = [0.1, 0.2] * 4, [0.5, 0.7] * 4


@pytest.fixture
def found():
    return results_of(STUDY, "small", [runs("plain", PLAIN, PLAIN), runs("other", OTHER, [0.3] * 8)])


def test_means_and_spread_over_seeds(found):
    plain, other = found.lines
    assert (plain.mean, plain.std, plain.seeds) == (pytest.approx(0.15), 0.0, 2)
    assert other.mean == pytest.approx((0.6 + 0.3) / 2)
    assert other.std == pytest.approx(0.3 / math.sqrt(2))


def test_variants_are_compared_by_document_after_averaging_over_seeds(found):
    plain, other = found.lines
    assert plain.contrast is None
    assert (other.contrast.n, other.contrast.mean) == (8, pytest.approx(0.15 - 0.45))
    assert other.contrast.second == "better"


def test_published_figures_are_of_the_data_that_was_trained_on(found):
    assert [line.published for line in found.lines] == [None, 0.42]
    elsewhere = results_of(STUDY, "small", [runs("plain", PLAIN, place="far"), runs("other", OTHER, place="far")])
    assert [line.published for line in elsewhere.lines] == [None, None]


def test_a_seed_without_a_number_leaves_no_line():
    found = results_of(STUDY, "small", [runs("plain", PLAIN, [math.nan] * 8)])
    assert found.lines == ()


def test_figures_of_models_are_lines_of_their_own():
    figures = {("test macro_f1", ""): [0.8, 0.9], ("likeness", "attention"): []}
    (line,) = results_of(STUDY, "small", [VariantRuns("mine", "mine", "plain", "x", figures=figures)]).lines
    assert (line.metric, line.mean, line.greater_is_better) == ("test macro_f1", pytest.approx(0.85), None)


def test_tables_say_numbers_differences_and_what_was_published(found):
    text = markdown(found)
    assert text.startswith("# made: Is it added up?\n")
    assert "| mine |  | attention | plain | 0.150 (0.000) |  |  |" in text
    assert "**better** +0.300 [" in text
    assert "| 0.42 |" in text
    assert "- flip(x=1), other: better in 1, worse in 0, cannot tell in 0" in text


def test_tables_are_files_for_people_and_programs(found, tmp_path):
    odd = replace(found, lines=(replace(found.lines[0], mean=math.nan),))
    write_tables(odd, tmp_path / "deep" / "tables")
    file = table_file(odd, tmp_path / "deep" / "tables")
    assert file.name == "made-small.md"
    told = json.loads(file.with_suffix(".json").read_text(), parse_constant=pytest.fail)
    assert told["lines"][0]["mean"] is None
    assert told == as_json(odd)


def test_sizes_in_words():
    preset = Preset((), seeds=(3,), schedule=Schedule(epochs=2, batch_size=8, rate=1e-5, head_rate=1e-4))
    assert written_preset(preset) == "model embedded, 2 epochs in batches of 8, rates 1e-05 and 0.0001, seeds 3"
    part = StudyData(
        "x", "sst2", Sizes(1200, 300, 60, balanced=True), audited=5, elsewhere={"y": "imdb:test"}, ratio=0.2
    )
    assert written_data_set(part) == (
        "at most 1,200 / 300 / 60 texts drawn from train, dev and test of sst2, equally by class for training; "
        "5 audited; elsewhere imdb:test; rationales of 20%"
    )
    whole = StudyData("x", "sst2", settings={"max_length": 64}, schedule=Schedule(epochs=3, batch_size=4))
    assert written_data_set(whole) == ("the whole of sst2; all of test audited; max_length 64; 3 epochs; batches of 4")
