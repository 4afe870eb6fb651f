"""Explanations to write and read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from veridical.core.values import Explanation, Image, Unit

Make = Callable[..., Explanation]


def make(id: str = "0", **changes: object) -> Explanation:
    values = {
        "example_id": id,
        "inputs": {"text": "good film"},
        "target": "positive",
        "units": (Unit("text", (0, 4), "good"), Unit("text", (5, 9), "film")),
        "scores": (0.1 + 0.2, -1e-300),
        "probabilities": {"positive": 0.75, "negative": 0.25},
        "source": "occlusion",
        "spec": {"explainer": {"name": "occlusion", "steps": [1, 2]}, "seed": 0, "é": None},
        "label": "positive",
        "measures": {"queries": 3.0},
    }
    return Explanation(**{**values, **changes})  # type: ignore[arg-type]


def unusual() -> list[Explanation]:
    """One of everything that a careless format would lose."""
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    return [
        make("plain"),
        make(
            "pair",
            inputs={"text": "a man", "text_pair": "a woman"},
            units=(Unit("text_pair", (2, 7), "woman"),),
            scores=(1,),
        ),
        make("image", inputs={"image": Image(pixels)}, units=(Unit("image", (0, 0, 2, 3), ""),), scores=(-0.0,)),
        make("both", inputs={"text": "", "image": Image(pixels[..., :1])}, units=(), scores=()),
        make("regression", label=3.5, probabilities={}, measures={}),
        make("unlabelled", label=None, spec={}),
        make("several labels", label=("sport", "Sünde \ud800", "a, b")),
        make("no label of several", label=()),
        make("order", probabilities={"z": 0.1, "a": 0.7, "m": 0.2}),
        make("unicode ✓ 😀 \u2028 \x00 \x85\r\n", inputs={"text": "שלום عالم 👩‍👩‍👧 \u202e"}),
        make("surrogate \ud83d", inputs={"text": "cut \ud83d here, \ud83d\ude00 there, \udcff"}, target="\udfff"),
        make("mark", inputs={"text": "\U0010ffff00d83d \U0010ffff"}),
        make("label \ud800", label="\ud800", measures={"\ud800": 1.0}, spec={"\ud800": "\udfff"}),
        make("sampled", margins=(0.1 + 0.2, 0.0)),
        make("infinite", measures={"bound": float("inf"), "low": float("-inf")}),
    ]


@pytest.fixture(name="make")
def make_fixture() -> Make:
    return make


@pytest.fixture(name="unusual")
def unusual_fixture() -> list[Explanation]:
    return unusual()


@pytest.fixture(params=[".jsonl", ".parquet"])
def suffix(request: pytest.FixtureRequest) -> str:
    """Each test that asks for a suffix runs for both formats."""
    return str(request.param)
