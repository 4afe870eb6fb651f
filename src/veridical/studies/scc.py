"""SCC: a sparse coding layer that explains and improves the model, beside VMASK, L2X, IBA and SimCSE."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from veridical.studies.study import LAYER, Figure, Look, Preset, Sizes, Study, StudyData, Variant
from veridical.training import Schedule

_REASONS, _LAYERS, _LEAKS, _ACCURACY = "reasons", "layers", "leaks", "accuracy"
_LIME = "lime(samples=200)"
_BASELINES = ("base", "evaluator", "l2x", "iba", "vmask", "simcse", "scc")
_TERMS = (
    "base",
    "scc",
    "no-contrast",
    "no-sparse",
    "no-background",
    "e-varm",
    "iba",
    "weak-iba",
    "base-longer",
    "scc-after",
)
_IMAGES = ("base", "vmask", "scc", "base-longer", "scc-after")


def _ablation(options: str) -> Variant:
    return Variant((f"scc({options})",), against=("scc",), matched=False, layer="scc")


def _evaluator(eraser: str) -> Variant:
    """What judges selections: a model that learns from texts of which words are erased at random."""
    return Variant((f"random-erasure(chance=1.0, eraser={eraser})",), matched=False, control=True)


_OTHERS = ("base", "l2x", "iba", "vmask", "simcse")


def _part(name: str, sizes: Sizes, documents: tuple[int, int], **rest: Any) -> StudyData:
    """Some texts of a data set, of which so many are explained by LIME, and so many by layers."""
    asked = dict(zip((_REASONS, _LAYERS, _LEAKS), (*documents, documents[1]), strict=True))
    return StudyData(name, name, sizes, documents=asked, **{"variants": _BASELINES, **rest})


def _whole(name: str, length: int, batch_size: int = 16, **rest: Any) -> StudyData:
    """All of some data, in texts of the published length."""
    plan = Schedule(epochs=10, batch_size=batch_size, rate=1e-5, head_rate=1e-5)
    return StudyData(name, name, documents={_REASONS: 2000}, settings={"max_length": length}, schedule=plan, **rest)


_SCITAIL = {"train": "scitail:dev[:1000]", "dev": "scitail:dev[1000:]"}
"""Its training split is not always to be had; its dev split is in no order."""


_CURVE = "post-hoc-accuracy(curve=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10])"
"""What was published: by 4 words, the others deleted."""

_SCITAIL_WORDS = {"l2x": 0.5931, "iba": 0.5426, "vmask": 0.5893, "scc": 0.6213}
"""By how many words is not said; it is held against as many as elsewhere."""

_SST2 = {
    "base": 0.9379,
    "l2x": 0.9303,
    "iba": 0.9374,
    "vmask": 0.938,
    "simcse": 0.939,
    "scc": 0.9423,
    "no-contrast": 0.9396,
    "no-sparse": 0.9413,
    "no-background": 0.9407,
}
_SST2_WORDS = {"scc": 0.8583, "no-contrast": 0.7403, "no-sparse": 0.8227, "no-background": 0.8446}
_SST2_AOPC = {"base": 0.3004, "scc": 0.3292}


def _published(data_set: str, metric: str, method: str, values: Mapping[str, float]) -> tuple[Figure, ...]:
    return tuple(Figure(data_set, variant, metric, method, value) for variant, value in values.items())


SCC = Study(
    name="scc",
    title="Does a layer that masks words explain a model, and make it better?",
    variants={
        "base": Variant(("cross-entropy",)),
        "evaluator": _evaluator("zero_output"),
        "l2x": Variant(("l2x",), matched=False, layer="l2x"),
        "iba": Variant(("iba",), matched=False, layer="iba"),
        # With the published weight of information hardly any word comes through.
        "weak-iba": Variant(("iba(information=0.1)",), against=("iba", "base"), matched=False, layer="iba"),
        "vmask": Variant(("vmask",), matched=False, layer="vmask"),
        "simcse": Variant(("simcse",), matched=False),
        "e-varm": Variant(('vmask(preset="e-varm")',), matched=False, layer="vmask"),
        "scc": Variant(("scc",), against=_OTHERS, layer="scc"),
        # A layer that learns with a model which knows nothing yet masks the words that it should learn from.
        "base-longer": Variant(("cross-entropy",), matched=False, control=True, after="base"),
        "scc-after": Variant(("scc",), against=("base-longer", "scc"), matched=False, layer="scc", after="base"),
        "no-contrast": _ablation("contrast=0.0"),
        "no-sparse": _ablation("sparse=0.0"),
        "no-background": _ablation("background=false"),
    },
    looks={
        _REASONS: Look(_LIME, "aopc(preset=scc-5), aopc(preset=scc), normalised-aopc(exact=4, most=8)"),
        _LAYERS: Look(
            "{layer}",
            "post-hoc-accuracy(preset=scc-curve), post-hoc-accuracy(preset=scc-trained), position-leak, "
            "position-leak(words=top-k)",
        ),
        _LEAKS: Look("{layer}", 'evaluator-leak(words=top-k, evaluator="{evaluator}")'),
        _ACCURACY: Look("random", "accuracy"),
    },
    best_by="accuracy",
    presets={
        "smoke": Preset(
            (
                StudyData(
                    "planted",
                    "planted(train=200, length=8)",
                    variants=("base", "evaluator", "vmask", "scc"),
                    documents={_REASONS: 8, _LAYERS: 20, _LEAKS: 20, _ACCURACY: 40},
                ),
            ),
            model="tiny",
            seeds=(0, 1),
            schedule=Schedule(epochs=3, batch_size=8, checks=1),
        ),
        # The sizes for one core of a processor with bfloat16: about six hours for the first, two for each of the next
        # ones, and half an hour for images. A study goes on variant by variant.
        "cpu": Preset(
            (_part("sst2", Sizes(6920, 872, 1821), (100, 300), settings={"max_length": 64}),),
            schedule=Schedule(epochs=3, batch_size=32, bf16=True),
        ),
        "cpu-terms": Preset(
            (
                StudyData(
                    "sst2-part",
                    "sst2",
                    Sizes(2000, 300, 1821),
                    variants=_TERMS,
                    documents={_REASONS: 100, _LAYERS: 300},
                    settings={"max_length": 64},
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=16, bf16=True),
        ),
        "cpu-others": Preset(
            (
                _part("trec", Sizes(1500, 300, 500), (60, 300)),
                _part("scitail", Sizes(1000, 304, 600), (40, 200), sources=_SCITAIL, settings={"max_length": 64}),
                _part(
                    "imdb",
                    Sizes(1000, 200, 400),
                    (30, 100),
                    variants=("base", "evaluator", "vmask", "scc"),
                    settings={"max_length": 128},
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=16, bf16=True),
        ),
        # FRESH: one model selects the words and another one reads them, the others deleted. About three quarters of an
        # hour.
        "cpu-fresh": Preset(
            (
                StudyData(
                    "sst2-part",
                    "sst2",
                    Sizes(2000, 300, 1821),
                    variants=("evaluator", "base"),
                    documents={_LEAKS: 300},
                    ratio=0.2,
                    settings={"max_length": 64},
                ),
            ),
            schedule=Schedule(epochs=3, batch_size=16, bf16=True),
            variants={"evaluator": _evaluator("delete")},
            looks={
                _ACCURACY: Look("random", "accuracy"),
                _LEAKS: Look(
                    "attention, random(seed=1)",
                    'position-leak, evaluator-leak(preset=fresh, reader="{fresh}", evaluator="{evaluator}")',
                ),
            },
        ),
        # New vision transformers: there is nothing pretrained in this size.
        "cpu-images": Preset(
            tuple(
                StudyData(name, data, variants=_IMAGES, documents={_REASONS: 40, _LAYERS: 200})
                for name, data in (
                    ("planted-images", "planted-images(train=400, dev=50, test=200)"),
                    ("digits", "digits"),
                    ("cifar100_10classes", "cifar100_10classes"),
                )
            ),
            model="tiny",
            schedule=Schedule(epochs=10, batch_size=16, checks=1),
        ),
        "full": Preset(
            (
                _whole("imdb", 250, batch_size=8),
                _whole("sst2_glue", 50, sources={"test": "sst2:test"}),
                _whole("trec", 15),
                _whole("scitail", 50),
            ),
            model="google-bert/bert-base-uncased",
        ),
    },
    published=tuple(
        chain.from_iterable(
            (
                *_published(data_set, "accuracy", "the model", _SST2),
                *_published(data_set, _CURVE, LAYER, _SST2_WORDS),
                *_published(data_set, "aopc(words=5)", _LIME, _SST2_AOPC),
            )
            for data_set in ("sst2", "sst2-part", "sst2_glue")
        )
    )
    + _published("trec", "accuracy", "the model", {"base": 0.964, "scc": 0.97})
    + _published("scitail", _CURVE, LAYER, _SCITAIL_WORDS),
)
