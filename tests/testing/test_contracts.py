"""Every registered explainer, eraser and objective keeps its contract, on every kind of classifier it supports."""

from dataclasses import dataclass

import pytest
import torch

from veridical.explainers import EXPLAINERS
from veridical.masking import ERASERS
from veridical.objectives import OBJECTIVES
from veridical.testing import (
    black_box,
    check_eraser,
    check_explainer,
    check_objective,
    image_classifier,
    pair_classifier,
    text_classifier,
)


def windows():
    return text_classifier(max_length=8, long="window")


def truncated():
    return text_classifier(max_length=8)


def tokens():
    return text_classifier(units="token")


def held():
    return pair_classifier(hold="text_pair")


SAMPLES = [text_classifier, pair_classifier, image_classifier, black_box, windows, tokens, held]


@pytest.mark.filterwarnings("ignore:.*longer than the model reads")
@pytest.mark.parametrize("sample", [*SAMPLES, truncated], ids=lambda sample: sample.__name__)
@pytest.mark.parametrize("name", list(EXPLAINERS))
def test_explainers_keep_their_contract(name, sample):
    explainer = EXPLAINERS.create(name)
    if not explainer.needs <= sample()[0].provides:
        pytest.skip(f"{name} needs {set(explainer.needs)}")
    check_explainer(explainer, sample)


PRESETS = [(name, preset) for name, cls in EXPLAINERS.items() for preset in getattr(cls, "presets", {})]


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_presets_keep_the_contract(name, preset):
    check_explainer(EXPLAINERS.create(f"{name}(preset={preset})"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
@pytest.mark.parametrize("name", list(ERASERS))
def test_erasers_keep_their_contract(name, sample):
    eraser = ERASERS.create(name)
    if eraser.needs not in sample()[0].provides:
        pytest.skip(f"no {name} here")
    check_eraser(eraser, sample)


@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier], ids=lambda s: s.__name__)
@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_objectives_keep_their_contract(name, sample):
    check_objective(OBJECTIVES.create(name), sample)


@dataclass(frozen=True)
class Broken:
    """Breaks one clause of the contract at a time, so that the checks are seen to fail."""

    how: str
    needs = frozenset()
    cost = "none"

    def scores(self, case):
        scores = torch.zeros(case.live.shape)
        if self.how == "shape":
            return scores[:, 1:]
        if self.how == "padding":
            return scores + 1
        if self.how == "random state":
            return torch.randn(case.live.shape) * case.live
        if self.how == "neighbours":
            return scores.masked_fill(case.live, float(len(case)))
        if self.how == "weights":
            next(case.classifier.model.parameters()).data.add_(1)
        if self.how == "mode":
            case.classifier.model.eval()
        if self.how == "infinite":
            return scores.masked_fill(case.live, float("inf"))
        return scores


@pytest.mark.parametrize("how", ["shape", "padding", "random state", "neighbours", "weights", "mode", "infinite"])
def test_the_checks_notice(how):
    with pytest.raises(AssertionError):
        check_explainer(Broken(how))
