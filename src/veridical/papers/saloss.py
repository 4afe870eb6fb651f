"""SaLoss: attention taught towards salient words (Chrysostomou & Aletras, 2021, "Enjoy the Salience")."""

from __future__ import annotations

from veridical.papers.study import Figure, Preset, Site, Study

_FLIP, _FRESH = "decision-flip", "fresh macro_f1"

SALOSS = Study(
    name="saloss",
    title="Does attention taught towards salient words make explanations more faithful?",
    variants={
        "plain": ("cross-entropy",),
        "saloss": ("saloss(lam=0.01)", "saloss(lam=0.001)", "saloss(lam=0.0001)"),
        "uniform": ("saloss(lam=0.01, salience=uniform)",),
    },
    methods="attention, scaled-attention, input-x-gradient, integrated-gradients",
    metrics="decision-flip(preset=saloss), normalised-aopc(beam=2, most=10)",
    fresh=("plain", "saloss", "uniform"),
    presets={
        "smoke": Preset(
            (Site("planted", "planted(train=200, length=8)", "planted(train=200, length=8):test[:12]"),),
            model="tiny",
            seeds=(0, 1),
            epochs=2,
            checks=1,
            tune_on=8,
        ),
        "cpu": Preset(
            (
                Site("sst2", "sst2:train[2000@0]", "sst2:test[150@0]", ratio=0.2),
                Site("trec", "trec:train[2000@0]", "trec:test[150@0]", ratio=0.2),
                Site("ag_news", "ag_news:train[2000@0]", "ag_news:test[150@0]", ratio=0.2),
                Site("movie_rationales", "movie_rationales:train[600@0]", "movie_rationales:test[50@0]", ratio=0.2),
            ),
            epochs=2,
        ),
        "full": Preset(
            (
                Site("sst2", "sst2", "sst2:test", ratio=0.2),
                Site("ag_news", "ag_news", "ag_news:test", ratio=0.2),
                Site("evidence_inference", "evidence_inference", "evidence_inference:test", ratio=0.1),
                Site("multirc", "multirc", "multirc:test", ratio=0.2),
            ),
            model="google-bert/bert-base-uncased",
            seeds=(100, 200, 300),
            epochs=10,
            batch_size=8,
            checks=5,
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
