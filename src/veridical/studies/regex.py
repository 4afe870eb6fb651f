"""REGEX: robustness and explanation-guided training together, for reasons that hold in other domains, too."""

from __future__ import annotations

from veridical.studies.study import Figure, Preset, Sizes, Study, StudyData
from veridical.training import Schedule

_SUFFICIENCY, _COMPREHENSIVENESS = "sufficiency", "comprehensiveness"
_INSTRUMENTS, _MUSIC = "amazon_musical_instruments", "amazon_digital_music"


def _reviews(name: str, other: str) -> StudyData:
    """A part of product reviews, and some of other products to look at without more training."""
    return StudyData(
        name,
        name,
        Sizes(400, 120, 300, balanced=True),
        audited=20,
        elsewhere={other: f"{other}:test[20@0]"},
        settings={"max_length": 64},
        schedule=Schedule(epochs=3, batch_size=8),
    )


def _whole(name: str, other: str, attacked: int | None = None) -> StudyData:
    """All of some data, and all of other data's test split to look at without more training."""
    return StudyData(name, name, attacked=attacked, elsewhere={other: f"{other}:test"}, settings={"max_length": 256})


REGEX = Study(
    name="regex",
    title="Do robustness and explanation-guided training make explanations more faithful, in and out of domain?",
    variants={"plain": ("cross-entropy",), "regex": ("regex",)},
    methods="scaled-attention, attention, deep-lift, input-x-gradient, integrated-gradients",
    metrics="sufficiency, comprehensiveness, normalised-aopc(exact=4, beam=1, most=8)",
    attack="attack",
    likeness_method="scaled-attention",
    presets={
        "smoke": Preset(
            (
                StudyData(
                    "planted",
                    "planted(train=200, length=8)",
                    audited=12,
                    attacked=12,
                    elsewhere={"longer": "planted(train=200, length=12):test[:12]"},
                ),
            ),
            model="tiny",
            seeds=(0, 1),
            schedule=Schedule(epochs=2, checks=1),
        ),
        "cpu": Preset(
            (
                StudyData(
                    "sst2",
                    "sst2",
                    Sizes(1200, 300, 600),
                    audited=60,
                    elsewhere={"imdb": "imdb:test[24@0]"},
                    settings={"max_length": 64},
                ),
                _reviews(_INSTRUMENTS, _MUSIC),
                _reviews(_MUSIC, _INSTRUMENTS),
            ),
            schedule=Schedule(epochs=2, batch_size=16),
        ),
        "full": Preset(
            (
                _whole("sst2", "imdb"),
                _whole("imdb", "sst2", attacked=400),
                _whole(_MUSIC, _INSTRUMENTS),
                _whole(_INSTRUMENTS, _MUSIC),
            ),
            model="google-bert/bert-base-uncased",
            seeds=(0, 1, 2, 3, 4),
            schedule=Schedule(epochs=10, batch_size=16, rate=1e-5, head_rate=1e-4),
        ),
    },
    published=(
        Figure("sst2", "plain", _SUFFICIENCY, "scaled-attention", 0.51),
        Figure("sst2", "regex", _SUFFICIENCY, "scaled-attention", 0.68),
        Figure("sst2", "plain", _COMPREHENSIVENESS, "scaled-attention", 0.39),
        Figure("sst2", "regex", _COMPREHENSIVENESS, "scaled-attention", 0.56),
        Figure("imdb", "plain", "attack", "the model", 0.1172),
        Figure("imdb", "regex", "attack", "the model", 0.0323),
        Figure("sst2", "plain", _SUFFICIENCY, "deep-lift", 0.42),
        Figure("sst2", "regex", _SUFFICIENCY, "deep-lift", 0.71),
        Figure("sst2", "plain", _COMPREHENSIVENESS, "deep-lift", 0.25),
        Figure("sst2", "regex", _COMPREHENSIVENESS, "deep-lift", 0.52),
    ),
)
