"""Every registered explainer, eraser and objective keeps its contract, on every kind of classifier it supports."""

from dataclasses import dataclass, replace

import pytest
import torch
from torch import nn

from veridical.explainers import EXPLAINERS, Scores, VMaskLayer, WordStudent
from veridical.explainers.base import adding_up
from veridical.explainers.students import Student
from veridical.masking import ERASERS
from veridical.objectives import OBJECTIVES, CrossEntropy
from veridical.testing import (
    black_box,
    check_eraser,
    check_explainer,
    check_objective,
    image_classifier,
    multi_label_classifier,
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


def pooled():
    return text_classifier(pooling="mean")


def pooled_windows():
    return text_classifier(pooling="mean", max_length=8, long="window")


SAMPLES = [
    text_classifier,
    multi_label_classifier,
    pair_classifier,
    image_classifier,
    black_box,
    windows,
    tokens,
    held,
    pooled,
    pooled_windows,
]


@pytest.mark.filterwarnings("ignore:.*longer than the model reads")
@pytest.mark.parametrize("sample", [*SAMPLES, truncated], ids=lambda sample: sample.__name__)
@pytest.mark.parametrize("name", list(EXPLAINERS))
def test_explainers_keep_their_contract(name, sample):
    explainer, (classifier, _) = EXPLAINERS.create(name), sample()
    if not explainer.needs <= classifier.provides:
        pytest.skip(f"{name} needs {set(explainer.needs)}")
    if isinstance(explainer, WordStudent) and sample is image_classifier:
        pytest.skip("it reads words")
    if isinstance(explainer, Student):  # which knows its model's classes
        explainer = replace(explainer, labels=classifier.labels)
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


@pytest.mark.parametrize(
    "sample",
    [text_classifier, multi_label_classifier, pair_classifier, image_classifier, pooled],
    ids=lambda sample: sample.__name__,
)
@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_objectives_keep_their_contract(name, sample):
    if name == "saloss" and sample is image_classifier:
        pytest.skip("an image has no word pieces")
    check_objective(OBJECTIVES.create(name), sample)


FAULTS = {
    "shape": "scores are",
    "padding": "slots without a unit",
    "infinite": "not all finite",
    "random state": "the same call gave other scores",
    "neighbours": "alone has other scores",
    "budget": "padding changes the scores",
    "weights": "a weight was changed",
    "gradients": "a gradient was left behind",
    "mode": "left in another mode",
    "margins of another shape": "margins are",
    "negative margins": "a margin is negative",
    "infinite margins": "a margin is not finite",
    "infinite measures": "the measure residual is not finite",
    "one measure for all": "not one per example",
    "more passes than said": "questions were asked",
    "no cost": "does not say what it costs",
    "no meaning": "does not say what a score means",
    "no weakness": "does not say what it is weak at",
    "total unsaid": "`total` says",
    "total without a residual": "`total` says",
    "margins unsaid": "`margins` says",
    "margins without any": "`margins` says",
}


@dataclass(frozen=True)
class Broken:
    """Breaks one clause of the contract at a time, so that the checks are seen to fail."""

    how: str
    needs = frozenset()

    @property
    def cost(self):
        return "" if self.how == "no cost" else "none"

    @property
    def meaning(self):
        return "" if self.how == "no meaning" else "nothing"

    @property
    def weakness(self):
        return "" if self.how == "no weakness" else "everything"

    @property
    def total(self):
        return "nothing" if "measure" in self.how or self.how == "total without a residual" else ""

    @property
    def margins(self):
        return "nothing" if "margins" in self.how and self.how != "margins unsaid" else ""

    def passes(self, units):
        return 0

    def scores(self, case):
        if self.how == "more passes than said":
            case.value(case.live[:, None])
        return Scores(self._values(case), self._margins(case), self._measures(case))

    def _values(self, case):
        scores = torch.zeros(case.live.shape)
        if self.how == "shape":
            return scores[:, 1:]
        if self.how == "padding":
            return scores + 1
        if self.how == "infinite":
            return scores.masked_fill(case.live, float("inf"))
        if self.how == "random state":
            return torch.randn(case.live.shape) * case.live
        if self.how == "neighbours":
            return scores.masked_fill(case.live, float(len(case)))
        if self.how == "budget":
            return scores.masked_fill(case.live, float(case.engine.tokens == 1))
        if self.how == "weights":
            next(case.classifier.model.parameters()).data.add_(1)
        if self.how == "gradients":
            case.classifier.run(case.batch.rows).logits.sum().backward()
        if self.how == "mode":
            case.classifier.model.eval()
        return scores

    def _margins(self, case):
        margins = torch.zeros(case.live.shape)
        if self.how == "margins of another shape":
            return margins[:, 1:]
        if self.how == "negative margins":
            return margins - 1
        if self.how == "infinite margins":
            return margins + torch.inf
        return margins if self.how == "margins unsaid" else None

    def _measures(self, case):
        if self.how == "infinite measures":
            return adding_up(torch.full((len(case),), torch.inf), torch.zeros(len(case)))
        if self.how == "one measure for all":
            return {"residual": torch.zeros(())}
        return adding_up(torch.zeros(len(case)), torch.zeros(len(case))) if self.how == "total unsaid" else {}


@pytest.mark.parametrize("how", FAULTS)
def test_the_checks_notice(how):
    with pytest.raises(AssertionError, match=FAULTS[how]):
        check_explainer(Broken(how))


def test_the_checks_pass_what_is_not_broken():
    check_explainer(Broken("not at all"))


@dataclass(frozen=True)
class Forgetful(VMaskLayer):
    """Half of what it has learned is not among its weights."""

    def scores(self, case):
        found = super().scores(case).values
        return Scores(found * getattr(self, "forgotten", 1.0))


def test_the_checks_notice_what_a_folder_does_not_keep(monkeypatch):
    monkeypatch.setitem(EXPLAINERS._registered, "forgetful", Forgetful)
    explainer = Forgetful()
    check_explainer(explainer)
    object.__setattr__(explainer, "forgotten", 2.0)
    with pytest.raises(AssertionError, match="loaded from its folder it gives other scores"):
        check_explainer(explainer)


class WithoutUse(nn.Module):
    """An objective with weights that no term depends on."""

    needs = frozenset()

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, case):
        return CrossEntropy()(case)


def test_the_checks_notice_weights_that_learn_nothing():
    with pytest.raises(AssertionError, match="none of its own weights has a gradient"):
        check_objective(WithoutUse())
