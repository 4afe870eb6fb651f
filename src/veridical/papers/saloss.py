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
    metrics="decision-flip(preset=saloss), normalised-aopc(exact=4, beam=1, most=8)",
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
                Site("sst2", "sst2:train[1500@0]", "sst2:test[100@0]"),
                Site("trec", "trec:train[1500@0]", "trec:test[100@0]"),
                Site("ag_news", "ag_news:train[1500@0]", "ag_news:test[100@0]"),
                Site("imdb", "imdb:train[400@0]", "imdb:test[30@0]"),
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
