"""How a metric is applied: scores are checked, and what cannot be judged becomes NaN everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from veridical.core.errors import InputError
from veridical.core.values import Example, Unit
from veridical.masking import Case
from veridical.metrics import METRICS, CorpusMetric, Measured, Metric, measure
from veridical.metrics.base import Need, undefined


@dataclass(frozen=True)
class Count(Metric):
    """The number of live units, with a curve and a detail."""

    fewest: ClassVar[int] = 3

    def questions(self, units: int) -> int:
        return 0

    def __call__(self, case: Case, scores: torch.Tensor) -> Measured:
        units = case.live.sum(1)
        return Measured(units, torch.stack([units, -units], 1), (0.0, 1.0), {"sum": scores.sum(1)})


def test_values_of_texts_that_are_too_short_are_undefined(case_of):
    case = case_of("abcd", lambda seen: 0.5, ["abcd", "ab", "abc"])
    found = measure(Count(), case, torch.ones(3, 4))
    assert found.values.nan_to_num(-1).tolist() == [4, -1, 3]
    assert found.curve.nan_to_num(-9).tolist() == [[4, -4], [-9, -9], [3, -3]]
    assert found.details["sum"].isnan().tolist() == [False, True, False]
    assert found.steps == (0.0, 1.0)


def test_numbers_become_floats_that_can_be_nan():
    found = undefined(Measured(torch.tensor([1, 2])), torch.tensor([False, True]))
    assert found.values.dtype == torch.float
    assert found.curve is None
    assert found.values[1].isnan()


@pytest.mark.parametrize("shape", [(2, 3), (1, 4), (4,)])
def test_scores_of_another_shape_are_refused(case_of, shape):
    case = case_of("abcd", lambda seen: 0.5, ["abcd", "ab"])
    with pytest.raises(InputError, match=r"there are scores for .* units, not for \(2, 4\)"):
        measure(Count(), case, torch.zeros(shape))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_refused_with_its_example(case_of, bad):
    case = case_of("abcd", lambda seen: 0.5, ["abcd", "ab"])
    scores = torch.zeros(2, 4)
    scores[1, 0] = bad
    with pytest.raises(InputError, match="example 1: a score is not a finite number. Explain this example again"):
        measure(Count(), case, scores)


def test_a_metric_that_says_nothing_else_judges_explanations_by_their_order():
    assert Metric().greater_is_better
    assert (Metric.ranks, Metric.percent, Metric.comparable, Metric.subject) == (True, False, False, "explanations")
    assert Metric.needs == frozenset()


def test_what_a_metric_has_to_do_is_not_done_for_it():
    with pytest.raises(NotImplementedError):
        Metric().questions(3)
    with pytest.raises(NotImplementedError):
        Metric()(None, torch.zeros(1, 1))  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError):
        CorpusMetric().over([], [])


def test_every_metric_says_what_helps_to_choose_it():
    for cls in METRICS.values():
        assert cls.meaning.endswith(".")
        assert cls.weakness.endswith(".")
        assert cls.needs <= set(Need)


def test_draws_without_a_number_do_not_count():
    found = Metric().mean(
        [
            Measured(torch.tensor([1.0, torch.nan]), torch.tensor([[1.0], [torch.nan]]), (0.5,), {"x": torch.ones(2)}),
            Measured(torch.tensor([2.0, torch.nan]), torch.tensor([[3.0], [torch.nan]]), (0.5,), {"x": torch.zeros(2)}),
            Measured(torch.tensor([torch.nan, 5.0]), torch.tensor([[torch.nan], [5.0]]), (0.5,), {"x": torch.zeros(2)}),
        ]
    )
    assert (found.values.tolist(), found.curve.tolist(), found.steps) == ([1.5, 5.0], [[2.0], [5.0]], (0.5,))
    assert found.details["x"].tolist() == [1.0, 1.0]  # of the first draw


QUESTIONS = {
    "aopc": 1,
    "aopc(words=4, cumulative=true)": 4,
    "comprehensiveness": 5 + 1,  # the empty text is one more
    "comprehensiveness(form=difference)": 5,
    "sufficiency(ratios=[0.5])": 1 + 1,
    "decision-flip(step=0.25)": 4 + 1,
    "decision-flip(step=0.01)": 8 + 1,  # at least one word in each step
    "leave-one-out-tau": 8,
    "log-odds": 1,
    "normalised-aopc": 8 + 2 * 8 + 2 * (7 + 6 + 5 + 4 + 3 + 2 + 1),
    "normalised-aopc(beam=2, tried=5)": 8 + 2 * 8 + 2 * 2 * (5 + 5 + 5 + 4 + 3 + 2 + 1),  # two orders, for both ends
    "normalised-aopc(exact=8)": 8 + 2**8,
    "normalised-aopc(exact=0, beam=1, tried=20)": 8 + 2 * 8 + 2 * 7 * 8 // 2,
    "normalised-aopc(most=4)": 4 + 2**4,
    "post-hoc-accuracy": 1,
    "prediction-agreement": 1,
    "rationale-auc": 0,
    "rationale-average-precision": 0,
    "rationale-f1": 0,
    "rationale-recall-at-k": 0,
    "reasons-on-top": 0,
    "pos-importance": 0,
    "attack(finder=rules, lists=short)": 7 * 8 * 9 // 2,
}


@pytest.mark.parametrize("written", QUESTIONS)
def test_the_most_questions_about_a_text_of_eight_words(written):
    metric = METRICS.create(written)
    assert metric.questions(8) + metric.questions_once(8) == QUESTIONS[written]


@pytest.mark.parametrize("written", [each for each in QUESTIONS if "attack" not in each and "pos" not in each])
def test_no_metric_asks_more_than_it_says(written, case_of, any_model):
    case = case_of("abcdefgh", any_model("abcdefgh", 3))
    scores = torch.rand(1, 8, generator=torch.Generator().manual_seed(0))
    before = case.asked.item()
    measure(METRICS.create(written), case, scores)
    assert case.asked.item() - before <= QUESTIONS[written]


TEXT = "a happy and furious day"


@pytest.mark.parametrize(
    ("metric", "right", "wrong"),
    [
        ("decision-flip(eraser=delete)", 1 / 5, 2 / 5),
        ("prediction-agreement(ratio=0.2, eraser=delete)", 1, 0),
        ("post-hoc-accuracy(words=1)", 1, 0),
        ("log-odds(ratio=0.2, eraser=delete)", math.log(9) - math.log(0.25), 0),
    ],
)
def test_a_label_among_several_is_judged_by_itself(moods, metric, right, wrong):
    case = Case.bind(moods, [Example("0", {"text": TEXT}, ("joy",))])
    happy = torch.tensor([0.0, 2, 0, 1, 0])  # first the word of joy, then the word of anger
    found = measure(METRICS.create(metric), case, torch.stack([happy, happy]))
    assert found.values.tolist() == pytest.approx([wrong, right])  # anger, joy


def test_evidence_is_for_gold_labels(moods):
    example = Example("0", {"text": TEXT}, ("joy",), evidence=(Unit("text", (2, 7), "happy"),))
    case = Case.bind(moods, [example])
    found = measure(METRICS.create("rationale-auc"), case, torch.tensor([[0.0, 1, 0, 0, 0]] * 2))
    assert math.isnan(found.values[0])
    assert found.values[1] == 1
