"""REGEX: robustness and explanation-guided training together, for reasons that hold in other domains, too."""

from __future__ import annotations

from veridical.papers.study import Figure, Preset, Site, Study

_SUFFICIENCY, _COMPREHENSIVENESS = "sufficiency", "comprehensiveness"

REGEX = Study(
    name="regex",
    title="Do robustness and explanation-guided training make explanations more faithful, in and out of domain?",
    variants={"plain": ("cross-entropy",), "regex": ("regex",)},
    methods="scaled-attention, attention, deep-lift, input-x-gradient, integrated-gradients",
    metrics="sufficiency, comprehensiveness, normalised-aopc(exact=4, beam=1, most=8), attack",
    alike="scaled-attention",
    presets={
        "smoke": Preset(
            (
                Site(
                    "planted",
                    "planted(train=200, length=8)",
                    "planted(train=200, length=8):test[:12]",
                    {"longer": "planted(train=200, length=12):test[:12]"},
                ),
            ),
            model="tiny",
            seeds=(0, 1),
            epochs=2,
            checks=1,
        ),
        "cpu": Preset(
            (
                Site("sst2", "sst2:train[1500@0]", "sst2:test[100@0]", {"imdb": "imdb:test[30@0]"}),
                Site(
                    "amazon_musical_instruments",
                    "amazon_musical_instruments:train[800@0]",
                    "amazon_musical_instruments:test[50@0]",
                    {"amazon_digital_music": "amazon_digital_music:test[30@0]"},
                ),
                Site(
                    "amazon_digital_music",
                    "amazon_digital_music:train[800@0]",
                    "amazon_digital_music:test[30@0]",
                    {"amazon_musical_instruments": "amazon_musical_instruments:test[50@0]"},
                ),
            ),
            epochs=2,
        ),
        "full": Preset(
            (
                Site("sst2", "sst2", "sst2:test", {"imdb": "imdb:test"}),
                Site("imdb", "imdb", "imdb:test", {"sst2": "sst2:test"}, ratio=0.02),
                Site(
                    "amazon_digital_music",
                    "amazon_digital_music",
                    "amazon_digital_music:test",
                    {"amazon_musical_instruments": "amazon_musical_instruments:test"},
                ),
                Site(
                    "amazon_musical_instruments",
                    "amazon_musical_instruments",
                    "amazon_musical_instruments:test",
                    {"amazon_digital_music": "amazon_digital_music:test"},
                ),
            ),
            model="google-bert/bert-base-uncased",
            seeds=(0, 1, 2, 3, 4),
            epochs=10,
            batch_size=16,
        ),
    },
    published=(
        Figure("sst2", "plain", _SUFFICIENCY, "scaled-attention", 0.51),
        Figure("sst2", "regex", _SUFFICIENCY, "scaled-attention", 0.68),
        Figure("sst2", "plain", _COMPREHENSIVENESS, "scaled-attention", 0.39),
        Figure("sst2", "regex", _COMPREHENSIVENESS, "scaled-attention", 0.56),
        Figure("sst2", "plain", _SUFFICIENCY, "deep-lift", 0.42),
        Figure("sst2", "regex", _SUFFICIENCY, "deep-lift", 0.71),
        Figure("sst2", "plain", _COMPREHENSIVENESS, "deep-lift", 0.25),
        Figure("sst2", "regex", _COMPREHENSIVENESS, "deep-lift", 0.52),
    ),
)
