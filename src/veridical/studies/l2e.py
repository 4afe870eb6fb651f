"""L2E: students of slow explainers, which should be faster, more stable, and as faithful as their teachers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veridical.studies.distillations import REFERENCE, DistillationPreset, DistillationStudy, StudentVariant
from veridical.studies.study import Figure, Look, Sizes, StudyData
from veridical.training import Schedule
from veridical.training.schedule import Distillation

_ORDER, _LEVELS, _NEAR, _REASONS, _OVERLAP = "order", "levels", "near", "reasons", "overlap"

_TEACHERS = {
    "occlusion": "occlusion",
    "input-x-gradient": "input-x-gradient",
    "lrp": "lrp",
    "lime": "lime(samples=50)",
    "kernel-shap": "kernel-shap(samples=50)",
    "deep-shap": "deep-shap(samples=10)",
}
_REFERENCES = {
    "lime": "lime(samples=1000, seed=7)",
    "kernel-shap": "kernel-shap(samples=2000, seed=7)",
    "deep-shap": "deep-shap(samples=100, seed=7)",
}
_BY_SIZE, _AS_MANY = "teacher, by size", "teacher, as many words as labels"

_SMALL = Distillation(body="words", width=128, depth=2, epochs=15.0, patience=3)
"""A student of words that is smaller than the embedded model, where the published one is larger."""

_SIDE = Distillation(body="side", epochs=15.0, patience=3)
_PAPER = Distillation(**Distillation.presets["paper"])  # type: ignore[arg-type]


_TEN_PAIRS = "permutation-shap(pairs=10)"

_BUDGETS = {
    "side": StudentVariant(("side, all texts",), looks=(_NEAR,), plan=_SIDE),
    "side-tenth": StudentVariant(
        ("side, a tenth of the texts",), against=("side",), looks=(_NEAR,), plan=_SIDE, teacher=_TEN_PAIRS, texts=692
    ),
    "words": StudentVariant(("words, all texts",), looks=(_NEAR,), plan=_SMALL),
    "words-tenth": StudentVariant(
        ("words, a tenth of the texts",), against=("words",), looks=(_NEAR,), plan=_SMALL, teacher=_TEN_PAIRS, texts=692
    ),
}
"""Students of Shapley values at the same budget; those of a tenth learn from ten times as many questions per text."""


def _part(name: str, sizes: Sizes, documents: tuple[int, int], **settings: Any) -> StudyData:
    """A part of some data; so many documents are audited, and explained by references."""
    return StudyData(name, name, sizes, documents=dict(zip((_ORDER, REFERENCE), documents, strict=True)), **settings)


L2E = DistillationStudy(
    name="l2e",
    title="Are students of slow explainers as faithful as their teachers, and more stable?",
    variants={
        "teacher": StudentVariant(("the method itself",), looks=(_ORDER, _LEVELS, _NEAR)),
        _BY_SIZE: StudentVariant(("the method itself, without signs",), looks=(_ORDER,), by_size=True, control=True),
        "ranking": StudentVariant(
            ("words, ranking",), against=(_BY_SIZE,), looks=(_ORDER,), plan=replace(_SMALL, form="ranking")
        ),
        "labels": StudentVariant(
            ("words, labels",), against=(_AS_MANY,), looks=(_LEVELS,), plan=replace(_SMALL, form="labels")
        ),
        _AS_MANY: StudentVariant(("the method itself, cut",), looks=(_LEVELS,), levels_of="labels", control=True),
        "scores": StudentVariant(("side, scores",), looks=(_ORDER, _NEAR), plan=_SIDE),
        "several": StudentVariant(
            ("side, scores of all teachers",),
            against=("teacher", "scores"),
            looks=(_ORDER,),
            plan=_SIDE,
            several=True,
        ),
        "teacher, another draw": StudentVariant(("the method itself, seed 1",), looks=(_NEAR,), seed=1, control=True),
    },
    looks={
        _ORDER: Look(
            "",
            "prediction-agreement, log-odds, stability(words=top), stability(words=top, neighbours=semantic), "
            "stability(words=top, keep=no-stop-words)",
        ),
        _LEVELS: Look(
            "",
            "prediction-agreement(words=high-positive), log-odds(words=positive), log-odds(words=negative), stability, "
            "stability(neighbours=semantic), stability(keep=no-stop-words)",
        ),
        # Of documents of any length: people marked words in whole reviews.
        _REASONS: Look(
            "",
            ", ".join(f"stability(longest=none, keep={keep})" for keep in ("all", "rationale", "no-stop-words")),
        ),
        _OVERLAP: Look("", "rationale-precision, rationale-recall, rationale-f1", by_class=True),
        _NEAR: Look(
            "",
            ", ".join(
                f"reference-likeness(reference='{{reference}}', by={by})" for by in ("order", "top", "sign", "error")
            ),
        ),
    },
    presets={
        "smoke": DistillationPreset(
            (_part("planted", Sizes(60, 20, 20), (12, 6)),),
            model="tiny",
            seeds=(0,),
            schedule=Schedule(epochs=2, batch_size=16),
            teachers={"occlusion": "occlusion", "lrp": "lrp", "lime": "lime(samples=30)"},
            references={"lime": "lime(samples=100, seed=7)"},
        ),
        "cpu": DistillationPreset(
            (_part("sst2", Sizes(6920, 872, 1821), (300, 100), settings={"max_length": 64}),),
            schedule=Schedule(epochs=3, batch_size=32, bf16=True),
            teachers=_TEACHERS,
            references=_REFERENCES,
        ),
        "cpu-others": DistillationPreset(
            (
                _part("ag_news", Sizes(1000, 150, 400), (150, 50), settings={"max_length": 96}),
                _part("cola", Sizes(1500, 200, 500), (200, 50), settings={"max_length": 64}),
            ),
            schedule=Schedule(epochs=3, batch_size=16, bf16=True),
            teachers=_TEACHERS,
            references=_REFERENCES,
        ),
        # Half of the training texts have lost the reasons that people marked, and are of a class of their own. The
        # model reads the first 128 tokens of a review; of students only those of labels are published for this.
        "cpu-reasons": DistillationPreset(
            (
                StudyData(
                    "movie_rationales",
                    "neutral(of=movie_rationales, ids=movie_rationales/l2e_split.jsonl.gz)",
                    Sizes(2864, 80, 200),
                    documents={_ORDER: 150},
                    settings={"max_length": 128},
                    variants=("teacher", "labels", _AS_MANY),
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=16, bf16=True),
            variants={
                "teacher": StudentVariant(("the method itself",), looks=(_REASONS, _OVERLAP)),
                "labels": StudentVariant(
                    ("words, labels",),
                    against=(_AS_MANY,),
                    looks=(_REASONS, _OVERLAP),
                    plan=replace(_SMALL, form="labels"),
                    texts=400,
                ),
                _AS_MANY: StudentVariant(
                    ("the method itself, cut",), looks=(_REASONS, _OVERLAP), levels_of="labels", control=True
                ),
            },
            teachers=_TEACHERS,
            right_only=True,
        ),
        # What to spend a budget of questions on: all texts with one pair of orders each, or a tenth of them with ten.
        "cpu-budget": DistillationPreset(
            (
                _part(
                    "sst2",
                    Sizes(6920, 872, 1821),
                    (100, 100),
                    settings={"max_length": 64},
                    variants=("teacher", "ten-pairs", *_BUDGETS),
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=32, bf16=True),
            variants={
                "teacher": StudentVariant(("the method itself",), looks=(_NEAR,)),
                "ten-pairs": StudentVariant(("the method itself, 10 pairs",), looks=(_NEAR,), teacher=_TEN_PAIRS),
                **_BUDGETS,
            },
            teachers={"permutation-shap": "permutation-shap(pairs=1)"},
            references={"permutation-shap": "kernel-shap(samples=2000, seed=7)"},
        ),
        "full": DistillationPreset(
            (
                StudyData("ag_news", "ag_news", model="google-bert/bert-base-uncased"),
                StudyData("sst2", "sst2", model="distilbert/distilbert-base-uncased"),
                StudyData("cola", "cola", model="albert/albert-base-v2"),
            ),
            schedule=Schedule(epochs=3, batch_size=32),
            variants={
                "ranking": StudentVariant(
                    ("words, ranking, as published",),
                    against=(_BY_SIZE,),
                    looks=(_ORDER,),
                    plan=replace(_PAPER, form="ranking"),
                ),
                "labels": StudentVariant(
                    ("words, labels, as published",),
                    against=(_AS_MANY,),
                    looks=(_LEVELS,),
                    plan=replace(_PAPER, form="labels"),
                ),
            },
            teachers={
                **_TEACHERS,
                "lime": "lime(samples=1000)",
                "kernel-shap": "kernel-shap(samples=1000)",
                "deep-shap": "deep-shap(samples=1000)",
            },
        ),
    },
    best_by="accuracy",
    published=(
        Figure("ag_news", "teacher", "test accuracy", "", 0.926),
        Figure("sst2", "teacher", "test accuracy", "", 0.90),
        Figure("cola", "teacher", "test accuracy", "", 0.74),
        Figure("movie_rationales", "teacher", "test accuracy", "", 0.745),
    ),
)
