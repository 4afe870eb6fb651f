"""A study of students: teachers, students and their like, with as many words, and what tables say of them."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from veridical.audits.plan import metrics_of
from veridical.audits.store import load_audit
from veridical.core.values import TEXT, Explanation, Unit
from veridical.data import load
from veridical.data.loader import parse_name
from veridical.explainers import EXPLAINERS
from veridical.metrics import METRICS
from veridical.run.predict import predict
from veridical.studies import STUDIES, Sizes, StudyData
from veridical.studies.distillations import BLACK_BOX, BOTH, LEARNED, as_many
from veridical.studies.l2e import L2E
from veridical.studies.reproduction import reproduce
from veridical.training import Schedule
from veridical.training.schedule import Distillation

QUICK = Distillation(body="words", width=16, depth=1, heads=2, epochs=2.0)


def explanation(scores, spec=None):
    words = "abcdefgh"[: len(scores)]
    units = tuple(Unit(TEXT, (2 * at, 2 * at + 1), word) for at, word in enumerate(words))
    return Explanation(
        "1", {TEXT: " ".join(words)}, "yes", units, tuple(map(float, scores)), {}, "a", {"method": {}, **(spec or {})}
    )


@pytest.mark.parametrize(
    ("teacher", "student", "cut"),
    [
        # One word highly positive and two slightly, one negative.
        ([5, 4, 3, 2, 1, -1, -2], [0, 0, 2, 1, 1, 0, -1], [2, 1, 1, 0, 0, 0, -1]),
        # The teacher has fewer positive words than the student names.
        ([5, -3, -2, 0], [2, 1, 1, -1], [2, -1, 0, 0]),
        # All of them equal are slightly positive.
        ([1, 3, 2, -1], [1, 1, 0, 0], [0, 1, 1, 0]),
        ([1, 2], [0, 0], [0, 0]),
    ],
)
def test_a_teacher_is_cut_to_as_many_words_as_its_student(teacher, student, cut):
    assert as_many(explanation(teacher), explanation(student)).scores == tuple(cut)


def test_levels_of_a_student_are_read_as_levels():
    """All of its words are highly positive, and so are as many of the teacher's."""
    made = as_many(explanation([5, 4, 3, -1]), explanation([2, 2, 0, -2], {"scores": "levels"}))
    assert made.scores == (2, 2, 0, -2)
    assert made.spec["scores"] == "levels"
    assert as_many(explanation([5, 4, 3, -1]), explanation([2, 2, 0, -2])).scores == (1, 1, 0, -1)


@pytest.fixture(scope="module")
def small():
    """The study with quick students, on a few texts and a model of one layer."""
    quick = {
        name: replace(each, plan=replace(QUICK, form=each.plan.form, body=each.plan.body))
        for name, each in L2E.variants.items()
        if each.plan
    }
    smoke = replace(
        L2E.presets["smoke"],
        data_sets=(StudyData("planted", "planted", Sizes(24, 8, 10), documents={"order": 8, "reference": 4}),),
        schedule=Schedule(epochs=1, batch_size=8),
        seeds=(0, 1),
    )
    return replace(L2E, variants={**L2E.variants, **quick}, presets={"smoke": smoke})


@pytest.fixture(scope="module")
def done(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("l2e")
    return reproduce(small, "smoke", folder / "runs", tables=folder / "tables"), folder


def lines(found, metric, variant):
    return {line.method: line for line in found.lines if (line.metric, line.variant) == (metric, variant)}


def test_students_are_held_to_teachers_with_as_many_words(done, small):
    found, _ = done
    teachers = set(small.presets["smoke"].teachers)
    for metric, variant, against in (
        ("prediction-agreement", "ranking", "teacher, by size"),
        ("stability", "labels", "teacher, as many words as labels"),
        ("log-odds", "scores", "teacher"),
    ):
        rows = lines(found, metric, variant)
        assert set(rows) - {"random"} == teachers
        assert {rows[teacher].against for teacher in teachers} == {against}
        assert all(rows[teacher].seeds == 2 for teacher in teachers)
    assert not found.missing


def test_likeness_is_to_the_reference_of_the_own_teacher(done):
    found, _ = done
    for variant in ("teacher", "scores", "teacher, another draw"):
        assert set(lines(found, "reference-likeness(by=order)", variant)) == {"lime"}
    names = ("teacher", "teacher, another draw")
    one, other = (lines(found, "reference-likeness(by=error)", name)["lime"].mean for name in names)
    assert one != other


def test_figures_tell_of_the_model_its_students_and_both_together(done):
    found, _ = done
    assert [line.variant for line in found.lines if line.metric == BLACK_BOX] == ["teacher"]
    assert set(lines(found, LEARNED, "several")) == {"all"}
    for variant in ("ranking", "labels", "scores", "several"):
        rows = lines(found, BOTH, variant)
        assert rows, variant
        assert all(0 <= line.mean <= 1 and line.seeds == 2 for line in rows.values())


def test_a_student_of_several_stands_beside_each_single_one(done, small):
    found, _ = done
    rows = [line for line in found.lines if (line.metric, line.variant) == ("log-odds", "several")]
    teachers = small.presets["smoke"].teachers
    told = {(line.method, line.against) for line in rows if line.method != "random"}
    assert told == {(teacher, base) for teacher in teachers for base in ("teacher", "scores")}


def test_what_is_finished_is_found_again(done, small):
    found, folder = done
    again = reproduce(small, "smoke", folder / "runs", tables=folder / "tables")
    assert [(line.metric, line.method, line.variant) for line in again.lines] == [
        (line.metric, line.method, line.variant) for line in found.lines
    ]
    assert np.allclose([line.mean for line in again.lines], [line.mean for line in found.lines])


def test_the_numbers_are_enough_without_the_models(done, small, tmp_path):
    found, folder = done
    shutil.copytree(folder / "tables", tmp_path / "tables")
    again = reproduce(small, "smoke", tmp_path / "runs", tables=tmp_path / "tables")
    assert np.allclose([line.mean for line in again.lines], [line.mean for line in found.lines])
    assert not (tmp_path / "runs" / "planted").exists()


def test_documents_decided_rightly_are_held_to_reasons_class_by_class(tmp_path):
    reasons = L2E.presets["cpu-reasons"]
    labels = replace(reasons.variants["labels"], plan=replace(QUICK, form="labels"), texts=12)
    preset = replace(
        reasons,
        data_sets=(
            StudyData(
                "planted",
                "neutral(of=planted)",
                Sizes(220, 20, 40),
                documents={"order": 12},
                variants=("teacher", "labels", "teacher, as many words as labels"),
            ),
        ),
        model="tiny",
        schedule=Schedule(epochs=4, batch_size=8),
        seeds=(0,),
        teachers={"occlusion": "occlusion"},
        variants={**reasons.variants, "labels": labels},
    )
    found = reproduce(replace(L2E, presets={"cpu-reasons": preset}), "cpu-reasons", tmp_path / "runs")
    [accuracy] = lines(found, BLACK_BOX, "teacher").values()
    assert accuracy.mean < 1  # documents are left out
    data = load(str(tmp_path / "runs" / "planted" / "data") + ":test")
    assert all(example.evidence for example in data)  # a drawn part keeps what people marked
    right = sum(
        said.labels == (example.label,)
        for example, said in zip(data, predict(tmp_path / "runs" / "planted" / "model", data.examples), strict=True)
    )
    audited = load_audit(tmp_path / "runs" / "planted" / "teacher" / "audit").documents
    assert len(audited) == min(12, right)
    for variant in ("teacher", "labels", "teacher, as many words as labels"):
        parts = [line for line in found.lines if line.variant == variant and line.metric.startswith("rationale-f1 of")]
        assert {line.method for line in parts} >= {"occlusion"}
        assert all(0 <= line.mean <= 1 for line in parts)
    assert "human" in lines(found, "stability(longest=none)", "teacher")


def test_the_study_names_things_that_exist():
    assert {"smoke", "cpu", "full"} <= set(L2E.presets)
    assert L2E is STUDIES["l2e"]
    for size, preset in L2E.presets.items():
        study = L2E.in_size(size)
        assert preset.setting.count("teachers") == 1
        for method in (*preset.teachers.values(), *preset.references.values()):
            EXPLAINERS.create(method)
        assert set(preset.references) <= set(preset.teachers)
        for data_set in preset.data_sets:
            parse_name(data_set.data)
            names = study.variants_on(data_set)
            assert names[0] == study.first
            for name in names:
                variant = study.student(name)
                assert set(variant.looks) <= set(study.looks)
                assert {variant.levels_of} <= {None, *names}
                assert set(variant.against) <= set(names)
    assert len(L2E.presets["cpu"].seeds) >= 3
    for look in L2E.looks.values():
        assert all(type(each) in METRICS.values() for each in metrics_of(look.metrics.format(reference="x")))
