"""SaLoss: attention taught towards salient words (Chrysostomou & Aletras, 2021, "Enjoy the Salience")."""

from __future__ import annotations

from veridical.studies.study import Figure, Preset, Sizes, Study, StudyData
from veridical.training import Schedule

_FLIP, _FRESH = "decision-flip", "fresh macro_f1"

_WEIGHTS = ("1.0", "0.1", "0.01")
"""Larger ones than the paper's: its published code sums the divergences of a batch and squares them."""


def _longer(name: str, sizes: Sizes, audited: int) -> StudyData:
    """A part of data with longer texts, cut to 64 tokens: fewer of them, in more and smaller steps."""
    return StudyData(
        name, name, sizes, audited=audited, settings={"max_length": 64}, schedule=Schedule(epochs=3, batch_size=8)
    )


SALOSS = Study(
    name="saloss",
    title="Does attention taught towards salient words make explanations more faithful?",
    variants={
        "plain": ("cross-entropy",),
        "saloss": tuple(f"saloss(lam={weight})" for weight in _WEIGHTS),
        "uniform": tuple(f"saloss(lam={weight}, salience=uniform)" for weight in _WEIGHTS),
    },
    follows={"uniform": "saloss"},
    methods="attention, scaled-attention, input-x-gradient, integrated-gradients",
    metrics="decision-flip(preset=saloss), normalised-aopc(exact=4, beam=1, most=8), pos-importance",
    best_by="loss",
    presets={
        "smoke": Preset(
            (StudyData("planted", "planted(train=200, length=8)", audited=12, ratio=0.2),),
            model="tiny",
            seeds=(0, 1),
            schedule=Schedule(epochs=2, checks=1),
            tune_on=8,
        ),
        "cpu": Preset(
            (
                StudyData("sst2", "sst2", Sizes(1200, 300, 600), audited=60, ratio=0.2),
                StudyData("trec", "trec", Sizes(800, 200, 400), audited=40, ratio=0.2),
                _longer("ag_news", Sizes(400, 120, 300), audited=24),
                _longer("imdb", Sizes(400, 100, 150), audited=20),
            ),
            schedule=Schedule(epochs=2, batch_size=16),
            tune_on=60,
        ),
        "full": Preset(
            (
                StudyData("sst2", "sst2", ratio=0.2),
                StudyData("ag_news", "ag_news", ratio=0.2),
                StudyData("evidence_inference", "evidence_inference", ratio=0.1),
                StudyData("multirc", "multirc", ratio=0.2),
            ),
            model="google-bert/bert-base-uncased",
            seeds=(100, 200, 300),
            schedule=Schedule(epochs=10, batch_size=8, rate=1e-5, head_rate=1e-4, checks=5),
            tune_on=1000,
        ),
    },
    published=(
        Figure("sst2", "plain", _FLIP, "attention", 0.55),
        Figure("sst2", "saloss", _FLIP, "attention", 0.42),
        Figure("evidence_inference", "plain", _FLIP, "attention", 0.25),
        Figure("evidence_inference", "saloss", _FLIP, "attention", 0.14),
        Figure("multirc", "plain", _FLIP, "attention", 0.40),
        Figure("multirc", "saloss", _FLIP, "attention", 0.19),
        Figure("ag_news", "plain", _FLIP, "attention", 0.43),
        Figure("ag_news", "saloss", _FLIP, "attention", 0.53),
        Figure("sst2", "plain", _FRESH, "attention", 0.83),
        Figure("sst2", "saloss", _FRESH, "attention", 0.87),
        Figure("sst2", "uniform", _FRESH, "attention", 0.82),
    ),
)
