"""Normalised AOPC: between the worst and the best order of this text and model."""

import math
from itertools import permutations

import pytest
import torch

from veridical import Classifier
from veridical.core.values import Example
from veridical.masking import Case
from veridical.metrics import NormalisedAOPC, measure
from veridical.testing import Formula

WORDS = "abcde"


def falls(says, groups):
    """The mean fall while groups of words go in this order."""
    text = frozenset("".join(groups))
    left = [text - set("".join(groups[: step + 1])) for step in range(len(groups))]
    return sum(says(text) - says(some) for some in left) / len(groups)


def scores_for(groups, words):
    """Scores that rank words by the group they are in."""
    place = {word: at for at, group in enumerate(groups) for word in group}
    return torch.tensor([[float(len(groups) - place[word]) for word in words]])


@pytest.mark.parametrize("seed", range(3))
def test_every_order_lies_where_it_should(seed, case_of, any_model):
    says = any_model(WORDS, seed)
    case = case_of(WORDS, says)
    every = {order: falls(says, order) for order in permutations(WORDS)}
    best, worst = max(every.values()), min(every.values())
    for order in list(every)[::7]:
        found = measure(NormalisedAOPC(), case, scores_for(order, WORDS))
        assert found.values.item() == pytest.approx((every[order] - worst) / (best - worst), abs=1e-5)
        assert found.details["aopc"].item() == pytest.approx(every[order], abs=1e-6)
        assert found.details["best"].item() == pytest.approx(best, abs=1e-6)
        assert found.details["worst"].item() == pytest.approx(worst, abs=1e-6)


def test_long_texts_go_in_groups_of_neighbours(case_of, any_model):
    words, groups = "abcdefg", ("abc", "de", "fg")
    says = any_model(words, 0)
    every = {order: falls(says, order) for order in permutations(groups)}
    best, worst = max(every.values()), min(every.values())
    case = case_of(words, says)
    for order in every:
        scores = torch.zeros(1, 7)
        for at, group in enumerate(order):
            scores[0, words.index(group[0])] = 3.0 - at  # one word speaks for its group
        found = measure(NormalisedAOPC(most=3), case, scores)
        assert found.values.item() == pytest.approx((every[order] - worst) / (best - worst), abs=1e-5)


def test_the_ends_are_found_once_for_all_methods(case_of, any_model):
    case = case_of(WORDS, any_model(WORDS, 0))
    metric = NormalisedAOPC(exact=5)
    measure(metric, case, scores_for("abcde", WORDS))
    assert case.asked.item() - 1 == 2**5 - 1 + 5
    measure(metric, case, scores_for("edcba", WORDS))
    assert case.asked.item() - 1 == 2**5 - 1 + 10
    forwards = case.engine.cost.forwards
    measure(metric, case, scores_for("cdeab", WORDS))
    assert case.engine.cost.forwards == forwards  # every subset is known by now


@pytest.mark.parametrize("seed", range(5))
def test_an_order_beyond_what_the_search_found_is_an_end_itself(seed, case_of, any_model):
    words = "abcdefgh"
    says = any_model(words, seed)
    case = case_of(words, says)
    metric = NormalisedAOPC(exact=0, beam=1)
    for order in list(permutations(words))[::2000]:
        assert 0 <= measure(metric, case, scores_for(order, words)).values.item() <= 1


def test_a_beam_of_one_finds_both_ends_where_words_add_up():
    weights = {f"w{at}": 0.3 * ((7 * at) % 12 - 4) for at in range(12)}
    case = Case.bind(Formula.linear(weights), [Example.of(" ".join(weights))], target="yes")
    exact = torch.tensor([list(weights.values())])
    metric = NormalisedAOPC(beam=1)
    assert measure(metric, case, exact).values.item() == pytest.approx(1, abs=1e-6)
    assert measure(metric, case, -exact).values.item() == pytest.approx(0, abs=1e-6)


def test_models_that_differ_in_confidence_only_are_judged_alike(case_of):
    worth = {"a": 0.4, "b": 0.2, "c": 0.1, "d": -0.1}
    sure = case_of("abcd", lambda seen: 0.3 + sum(worth[word] for word in seen))
    unsure = case_of("abcd", lambda seen: 0.5 + 0.1 * sum(worth[word] for word in seen))
    scores = torch.tensor([[1.0, 3.0, 0.0, 2.0]])
    one, other = (measure(NormalisedAOPC(), case, scores) for case in (sure, unsure))
    assert one.details["aopc"].item() == pytest.approx(10 * other.details["aopc"].item(), abs=1e-5)
    assert one.values.item() == pytest.approx(other.values.item(), abs=1e-5)


def test_undefined_where_no_order_matters(case_of):
    case = case_of("abcd", lambda seen: 0.8)
    assert math.isnan(measure(NormalisedAOPC(), case, torch.rand(1, 4)).values.item())
    by_count = case_of("abcd", lambda seen: 0.2 * len(seen) + 0.1)
    assert math.isnan(measure(NormalisedAOPC(), by_count, torch.rand(1, 4)).values.item())


@pytest.mark.parametrize("seed", range(5))
def test_trying_few_words_finds_nearly_as_much_as_trying_all(seed):
    """Words that act together by pairs: what a word is worth changes as others go, but not altogether."""
    generator = torch.Generator().manual_seed(seed)
    words = [f"w{at}" for at in range(14)]
    own, pairs = torch.randn(14, generator=generator), 0.2 * torch.randn(14, 14, generator=generator)

    def says(texts):
        kept = torch.tensor([[word in text.split() for word in words] for text in texts], dtype=torch.float)
        logits = kept @ own + ((kept @ pairs) * kept).sum(1)
        return torch.stack([logits, -logits], 1).softmax(1).tolist()

    case = Case.bind(Classifier.load(says, labels=["yes", "no"], name="pairs"), [Example.of(" ".join(words))])
    scores = own[None].double()
    few, every = (measure(NormalisedAOPC(tried=tried), case, scores).details for tried in (8, 14))
    room = [(each["best"] - each["worst"]).item() for each in (few, every)]
    assert room[0] >= 0.9 * room[1]


def test_the_mean_of_draws_is_that_of_their_falls(case_of, any_model):
    case = case_of(WORDS, any_model(WORDS, 1))
    metric = NormalisedAOPC(exact=0, beam=1, tried=1)
    draws = [measure(metric, case, scores_for(order, WORDS)) for order in ("abcde", "edcba", "cdeab")]
    found = metric.mean(draws)
    falls = [each.details["aopc"].item() for each in draws]
    best, worst = (pick(each.details[end].item() for each in draws) for pick, end in ((max, "best"), (min, "worst")))
    assert found.details["aopc"].item() == pytest.approx(sum(falls) / 3)
    assert found.values.item() == pytest.approx((sum(falls) / 3 - worst) / (best - worst), abs=1e-5)
