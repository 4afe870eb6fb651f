"""Naming a component of one's own, from a notebook: every job then knows it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from veridical import Example, explain, load_data, register
from veridical.core.component import Count, option
from veridical.core.errors import UsageError
from veridical.data import DATASETS, Dataset, Source
from veridical.explainers import EXPLAINERS, Explainer, Scores
from veridical.masking import ERASERS, Eraser
from veridical.metrics import METRICS, Measured, Metric
from veridical.objectives import OBJECTIVES
from veridical.objectives.salience import SALIENCES, Salience
from veridical.testing import check_explainer, text_classifier

REGISTRIES: list[Any] = [EXPLAINERS, METRICS, OBJECTIVES, ERASERS, SALIENCES, DATASETS]


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Names that a test gives must not outlive it."""
    for registry in REGISTRIES:
        monkeypatch.setattr(registry, "_registered", {})


def test_importing_it_does_not_load_torch():
    code = "import sys, veridical.register; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@dataclass(frozen=True)
class WordLength(Explainer):
    """Longer words score higher."""

    power: Count = option(1, "How much longer words count more.")
    cost: ClassVar[str] = "none"
    meaning: ClassVar[str] = "The number of letters."
    weakness: ClassVar[str] = "It knows nothing of the model."

    def passes(self, units: int) -> int:
        return 0

    def scores(self, case):
        values = torch.zeros(case.live.shape)
        for index, units in enumerate(case.batch.units):
            values[index, : len(units)] = torch.tensor([float(len(unit.text)) ** self.power for unit in units])
        return Scores(values)


def test_an_explainer():
    register.explainer("word-length")(WordLength)
    classifier, _ = text_classifier()
    found = explain(classifier, ["a gorgeous day"], method="word-length(power=2)")[0]
    assert found.top(1)[0][0].text == "gorgeous"
    assert found.spec["method"] == {"name": "word-length", "power": 2}
    check_explainer(WordLength())
    with pytest.raises(UsageError, match=r"word-length\(power=0\) is beyond its limits"):
        explain(classifier, ["a gorgeous day"], method="word-length(power=0)")


def test_a_built_in_name_is_refused():
    with pytest.raises(UsageError, match="the explainer 'lime' exists already: Lime. Choose another name"):
        register.explainer("lime")(WordLength)


def test_what_is_missing_is_named():
    @dataclass(frozen=True)
    class Unfinished(Explainer):
        """It does nothing yet."""

    with pytest.raises(UsageError, match="Unfinished cannot be used as explainer: it has no `scores`"):
        register.explainer("unfinished")(Unfinished)

    @dataclass(frozen=True)
    class Nowhere(Source):
        """It loads nothing."""

    with pytest.raises(UsageError, match="Nowhere cannot be used as data set: it has no `load`"):
        register.data("nowhere")(Nowhere)


def test_a_typo_in_needs_is_found_before_any_model_is_refused():
    @dataclass(frozen=True)
    class Typo(WordLength):
        needs: ClassVar[frozenset[str]] = frozenset({"gradiants"})

    with pytest.raises(UsageError, match=r"ability, which Typo needs: 'gradiants'. Did you mean 'gradients'\?"):
        register.explainer("typo")(Typo)


def test_a_decorator_without_a_name_is_refused():
    with pytest.raises(UsageError, match="cannot name a component. Give a text of small letters"):
        register.explainer(WordLength)(WordLength)


def test_a_metric():
    @register.metric("always-one")
    @dataclass(frozen=True)
    class AlwaysOne(Metric):
        """One, whatever the scores are."""

        meaning: ClassVar[str] = "Nothing."

        def questions(self, units: int) -> int:
            return 0

        def __call__(self, case, scores):
            return Measured(torch.ones(len(case)))

    assert METRICS.create("always-one") == AlwaysOne()
    assert METRICS.written(AlwaysOne()) == "always-one"


def test_an_eraser_can_be_used_by_every_method():
    @register.eraser("gap")
    @dataclass(frozen=True)
    class Gap(Eraser):
        """Takes words out, as `delete` does."""

        needs: ClassVar[str] = "delete"

        def __call__(self, classifier, rows, keep):
            return ERASERS.create("delete")(classifier, rows, keep)

    classifier, examples = text_classifier()
    one, other = (explain(classifier, examples[:2], method=f"occlusion(eraser={name})") for name in ("gap", "delete"))
    assert [each.scores for each in one] == [each.scores for each in other]


def test_an_objective_a_salience_and_data():
    @register.objective("nothing")
    @dataclass(frozen=True)
    class Nothing:
        """A loss of nothing."""

        needs: ClassVar[frozenset[str]] = frozenset()

        def __call__(self, case):
            return {"nothing": case.output.logits.sum() * 0}

    @register.salience("flat")
    @dataclass(frozen=True)
    class Flat(Salience):
        """All pieces alike."""

        def fitted(self, corpus):
            return lambda pieces: np.ones(len(pieces))

    @register.data("jokes")
    @dataclass(frozen=True)
    class Jokes(Source):
        """Jokes, funny or not."""

        def load(self, split: str) -> Dataset:
            return Dataset(f"jokes:{split}", (Example("1", {"text": "knock knock"}, "funny"),), labels=("funny",))

    assert OBJECTIVES.create("saloss(salience=flat) + nothing").parts[1] == Nothing()
    assert load_data("jokes:test")[0].inputs["text"] == "knock knock"
