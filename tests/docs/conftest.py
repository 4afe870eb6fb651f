"""Pages and examples give names to components of their own, which must not outlive their test."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.core.registry import Registry
from veridical.data import DATASETS
from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.metrics import METRICS
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES

REGISTRIES: list[Registry[Any]] = [EXPLAINERS, METRICS, OBJECTIVES, ERASERS, SALIENCES, DATASETS]


@pytest.fixture(autouse=True)
def forget_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, "_registered", {})
