"""The index of papers names files that exist and all methods there are; the glossary has every word once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from veridical.core.registry import Registry
from veridical.explainers import EXPLAINERS
from veridical.metrics import METRICS
from veridical.objectives import OBJECTIVES

ROOT = Path(__file__).resolve().parents[2]
PAPERS = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
FILES = re.findall(r"`(?!src/)([a-z_]+/[\w/]*(?:\.py|/))`", PAPERS)
WORDS = re.findall(r"^\*\*(.+?)\.\*\*", GLOSSARY, re.M)


@pytest.mark.parametrize("file", sorted(set(FILES)))
def test_every_file_of_the_index_exists(file: str) -> None:
    assert (ROOT / "src" / "veridical" / file).exists()


def test_the_index_is_found() -> None:
    assert len(FILES) > 40
    assert "metrics/erasure.py" in FILES
    assert "objectives/salience/" in FILES


@pytest.mark.parametrize("registry", [EXPLAINERS, METRICS, OBJECTIVES], ids=lambda registry: registry.kind)
def test_every_method_is_in_the_index(registry: Registry[Any]) -> None:
    ours = [name for name, cls in registry.items() if cls.__module__.startswith("veridical.")]
    assert not [name for name in ours if f"`{name}`" not in PAPERS]


def test_every_preset_of_the_index_exists() -> None:
    for name, preset in re.findall(r"`([a-z-]+)\(preset=([\w-]+)\)`", PAPERS):
        named = [registry[name] for registry in (EXPLAINERS, METRICS, OBJECTIVES) if name in registry]
        assert any(preset in cls.presets for cls in named), f"{name}(preset={preset})"


def test_the_glossary_is_in_order_and_has_every_word_once() -> None:
    assert len(WORDS) > 70
    assert sorted(WORDS, key=str.lower) == WORDS
    assert len({word.lower() for word in WORDS}) == len(WORDS)


@pytest.mark.parametrize(
    "word",
    [
        *("case", "unit", "eraser", "evidence", "verdict", "floor", "spec", "fingerprint", "handle", "watch", "target"),
        *("held field", "window", "live", "portion", "component", "option", "preset", "sink", "undefined"),
    ],
)
def test_words_that_cannot_be_guessed_are_explained(word: str) -> None:
    assert word in {each.lower() for each in WORDS}
