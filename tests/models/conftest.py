from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

from veridical.core.values import Example
from veridical.models.text_classifier import TextClassifier
from veridical.testing.families import DECODERS, FAMILIES, family

cached = lru_cache(maxsize=None)(family)


@pytest.fixture(params=FAMILIES)
def name(request: pytest.FixtureRequest) -> str:
    """Each family that reads both ways."""
    return str(request.param)


@pytest.fixture(params=FAMILIES + DECODERS)
def any_name(request: pytest.FixtureRequest) -> str:
    """Each family, those that read left to right too."""
    return str(request.param)


@pytest.fixture
def make() -> Callable[..., TextClassifier]:
    """A family's classifier, made once for all tests; nothing may change it."""
    return cached


@pytest.fixture
def examples() -> list[Example]:
    texts = ["A gorgeous, witty movie; don't miss it!", "dull", "The plot is dreadful..."]
    return [Example.of(text, str(index)) for index, text in enumerate(texts)]


@pytest.fixture
def pairs() -> list[Example]:
    texts = [("A gorgeous movie.", "Was it good?"), ("dull", "Nobody cried: a well-known story, badly told!")]
    return [Example.of(pair, f"p{index}") for index, pair in enumerate(texts)]
