"""REGEX: robustness and explanation-guided training together, for reasons that hold in other domains, too."""

from __future__ import annotations

from veridical.studies.study import Figure, Look, Preset, Sizes, Study, StudyData, Variant
from veridical.training import Schedule

_SUFFICIENCY, _COMPREHENSIVENESS = "sufficiency", "comprehensiveness"
_REASONS, _ATTACK = "reasons", "attack"
_INSTRUMENTS, _MUSIC = "amazon_musical_instruments", "amazon_digital_music"


_PUBLISHED = ("plain", "regex")


def _whole(name: str, other: str, attacked: int | None = None) -> StudyData:
    """All of some data, and all of other data's test split to look at without more training."""
    return StudyData(
        name,
        name,
        variants=_PUBLISHED,
        documents={_ATTACK: attacked} if attacked else {},
        elsewhere={other: f"{other}:test"},
        settings={"max_length": 256},
    )


REGEX = Study(
    name="regex",
    title="Do robustness and explanation-guided training make explanations more faithful, in and out of domain?",
    variants={
        "plain": Variant(("cross-entropy",)),
        "regex": Variant(("regex",)),
        "without-gradient": Variant(("regex(l2=0.0)",), matched=False),
        "without-adversarial": Variant(("regex(l3=0.0)",), matched=False),
        "without-guidance": Variant(("regex(l4=0.0)",), matched=False),
        "only-gradient": Variant(("regex(l3=0.0, l4=0.0)",), matched=False),
        "only-adversarial": Variant(("regex(l2=0.0, l4=0.0)",), matched=False),
        "only-guidance": Variant(("regex(l2=0.0, l3=0.0)",), matched=False),
    },
    looks={
        _REASONS: Look(
            "scaled-attention, attention, deep-lift, integrated-gradients",
            "sufficiency, comprehensiveness, normalised-aopc(exact=4, most=8)",
        ),
        _ATTACK: Look("random", "attack"),
    },
    likeness_method="scaled-attention",
    presets={
        "smoke": Preset(
            (
                StudyData(
                    "planted",
                    "planted(train=200, length=8)",
                    variants=("plain", "regex", "without-guidance"),
                    documents={_REASONS: 12, _ATTACK: 12},
                    elsewhere={"longer": "planted(train=200, length=12):test[:12]"},
                ),
            ),
            model="tiny",
            seeds=(0, 1),
            schedule=Schedule(epochs=2, checks=1),
        ),
        # The three sizes for one core of a processor with bfloat16, where an epoch of all of SST-2 takes two
        # minutes, and 1.9 times as much with REGEX: about two hours each, and two of them fit side by side.
        "cpu": Preset(
            (
                StudyData(
                    "sst2",
                    "sst2",
                    Sizes(6920, 872, 1821),
                    variants=_PUBLISHED,
                    documents={_REASONS: 300, _ATTACK: 300},
                    elsewhere={"imdb": "imdb:test[50@0]"},
                    settings={"max_length": 64},
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=32, bf16=True),
        ),
        # Each term alone and each left out takes 24 models: on a part of the data, which shows differences of a third
        # of a standard deviation.
        "cpu-terms": Preset(
            (
                StudyData(
                    "sst2-part",
                    "sst2",
                    Sizes(1500, 300, 600),
                    documents={_REASONS: 150, _ATTACK: 100},
                    settings={"max_length": 64},
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=16, bf16=True),
        ),
        "cpu-others": Preset(
            (
                StudyData(
                    "trec", "trec", Sizes(1500, 300, 500), variants=_PUBLISHED, documents={_REASONS: 100, _ATTACK: 100}
                ),
                StudyData(
                    "ag_news",
                    "ag_news",
                    Sizes(1000, 200, 300),
                    variants=_PUBLISHED,
                    documents={_REASONS: 60, _ATTACK: 60},
                    settings={"max_length": 64},
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=16, bf16=True),
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
            variants={"regex": Variant(("regex(preset=paper)",))},
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
