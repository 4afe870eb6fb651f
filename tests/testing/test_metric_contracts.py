"""Every registered metric keeps its contract, on every kind of classifier that it can judge."""

from dataclasses import dataclass

import pytest
import torch

from veridical.core.errors import UnsupportedError
from veridical.masking import Case
from veridical.metrics import METRICS, CorpusMetric, Measured, Metric, Need, measure
from veridical.testing import (
    black_box,
    check_metric,
    image_classifier,
    multi_label_classifier,
    pair_classifier,
    text_classifier,
)


def windows():
    return text_classifier(max_length=8, long="window")


def held():
    return pair_classifier(hold="text_pair")


SAMPLES = [text_classifier, multi_label_classifier, pair_classifier, image_classifier, black_box, windows, held]
# Fewer questions than by default; what is checked is the same.
QUICK = {
    "normalised-aopc": "normalised-aopc(exact=4, beam=2, most=6)",
    "simulability": "simulability(seeds=1, epochs=1, batch_size=1, dev=0.3)",
}
# It divides by what there is to lose, which is little for a random model that still reads the held text.
TOLERANCES = {("sufficiency", held): 2e-5}
# They need a folder, a file or a layer; their own tests have one.
ELSEWHERE = {"evaluator-leak", "masked-accuracy", "reference-likeness"}
NAMES = [name for name in METRICS if name not in ELSEWHERE]
PRESETS = [(name, preset) for name in NAMES for preset in getattr(METRICS[name], "presets", {})]


def needed(metric, sample):
    """Why a metric cannot judge a sample, if so."""
    classifier, examples = sample()
    eraser = getattr(metric, "eraser", None)
    if eraser is not None and eraser not in classifier.provides:
        return f"no {eraser} here"
    if Need.ONE_CLASS in metric.needs and classifier.is_multi_label:
        return "a text may have several labels"
    if METRICS.name_of(metric) == "simulability" and classifier.is_multi_label:
        return "students give one class or a number"
    return "there are no words" if "text" in metric.needs and "image" in examples[0].inputs else ""


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_metrics_keep_their_contract(name, sample):
    metric = METRICS.create(QUICK.get(name, name))
    if reason := needed(metric, sample):
        pytest.skip(reason)
    check_metric(metric, sample, TOLERANCES.get((name, sample), 1e-5))


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_presets_keep_the_contract(name, preset):
    check_metric(METRICS.create(f"{name}(preset={preset})"))


@pytest.mark.parametrize("name", NAMES)
def test_one_word_is_undefined(name):
    metric = METRICS.create(name)
    if isinstance(metric, CorpusMetric) or metric.fewest < 2:
        pytest.skip("judged otherwise")
    classifier, examples = text_classifier()
    case = Case.bind(classifier, examples[1:2])
    assert case.live.shape == (1, 1)
    assert measure(metric, case, torch.ones(1, 1)).values.isnan().all()


def test_a_way_of_erasing_that_a_model_does_not_have_is_refused_by_name():
    classifier, examples = black_box()
    case = Case.bind(classifier, examples)
    with pytest.raises(UnsupportedError, match="erasing by 'pad' needs pad"):
        measure(METRICS.create("comprehensiveness"), case, torch.zeros(case.live.shape))


FAULTS = {
    "values of another shape": "values are",
    "infinite": "a number is infinite",
    "a curve without steps": "the curve is",
    "steps without a curve": "the curve is",
    "several details each": "not one per example",
    "chance": "the same call gave other numbers",
    "order": "the order of the examples changes",
    "neighbours": "alone has other numbers",
    "undefined elsewhere": "NaN in other places",
    "more questions than said": "questions were asked",
    "size of scores": "larger scores in the same order",
    "evidence": "a value without evidence",
    "weights": "a weight was changed",
    "random state": "the global random state was used",
    "no meaning": "does not say what a value means",
    "no weakness": "does not say what it is weak at",
    "no direction": "which direction is better",
    "no words": "judges texts without words",
}


@dataclass(frozen=True)
class Broken(Metric):
    """Breaks one clause of the contract at a time, so that the checks are seen to fail."""

    how: str
    percent = False
    ranks = True
    comparable = False

    @property
    def needs(self):
        return frozenset({"evidence"}) if self.how == "evidence" else frozenset()

    @property
    def meaning(self):
        return "" if self.how == "no meaning" else "nothing"

    @property
    def weakness(self):
        return "" if self.how == "no weakness" else "everything"

    @property
    def fewest(self):
        return 0 if self.how == "no words" else 2

    @property
    def greater_is_better(self):
        return None if self.how == "no direction" else True

    def questions(self, units):
        return 0

    def __call__(self, case, scores):
        if self.how == "more questions than said":
            case.value(case.live[:, None])
        if self.how == "weights":
            next(case.classifier.model.parameters()).data.add_(1)
        if self.how == "random state":
            torch.rand(1)
        curve = torch.zeros(len(case), 2) if self.how == "a curve without steps" else None
        steps = (1.0,) if self.how == "steps without a curve" else ()
        return Measured(self._values(case, scores), curve, steps, self._details(case))

    def _values(self, case, scores):
        values = torch.zeros(len(case))
        if self.how == "values of another shape":
            return torch.zeros(len(case), len(case))
        if self.how == "infinite":
            return values + torch.inf
        if self.how == "chance":
            return values + next(TICKS)
        if self.how == "order":
            return torch.arange(len(case)).float()
        if self.how == "neighbours":
            return values + len(case)
        if self.how == "undefined elsewhere":
            return values / (len(case) - 1)
        return scores.sum(1) if self.how == "size of scores" else values

    def _details(self, case):
        if self.how != "several details each":
            return {}
        return {"all": torch.zeros(len(case), len(case))}


TICKS = iter(range(10**6))


@pytest.mark.parametrize("how", FAULTS)
def test_the_checks_notice(how):
    with pytest.raises(AssertionError, match=FAULTS[how]):
        check_metric(Broken(how))


def test_the_checks_pass_what_is_not_broken():
    check_metric(Broken("not at all"))


@dataclass(frozen=True)
class Corpus(CorpusMetric):
    """A metric over all explanations, broken or not."""

    how: str
    needs = frozenset()
    meaning = "How many explanations there are."
    weakness = "All."
    fewest = 2
    percent = ranks = comparable = False
    greater_is_better = True

    def over(self, examples, explanations):
        values = torch.full((len(examples),), float(len(explanations)))
        if self.how == "order":
            values = values + torch.arange(len(examples))
        if self.how != "one word":
            few = torch.tensor([len(each.units) < self.fewest for each in explanations])
            values = values.masked_fill(few, torch.nan)
        return Measured(values)


@pytest.mark.parametrize(("how", "problem"), [("order", "the order of the examples"), ("one word", "has 1 units")])
def test_the_checks_notice_what_is_wrong_with_a_metric_over_a_corpus(how, problem):
    with pytest.raises(AssertionError, match=problem):
        check_metric(Corpus(how))


def test_the_checks_pass_a_metric_over_a_corpus():
    check_metric(Corpus("not at all"))
