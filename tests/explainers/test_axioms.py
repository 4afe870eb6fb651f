"""Properties that hold for every game, tried on random ones."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.values import Example
from veridical.explainers import IntegratedGradients, KernelShap, Lime, Occlusion
from veridical.masking import Case
from veridical.testing import Formula

LETTERS = "abcdefgh"
numbers = st.floats(-2, 2, allow_nan=False, width=32)
quick = settings(max_examples=25, deadline=None, derandomize=True)


@st.composite
def games(draw, least=2, most=6):
    """A random model with effects of single words, of pairs and of neighbours in threes: function and words."""
    words = draw(st.integers(least, most))
    single = torch.tensor(draw(st.lists(numbers, min_size=words, max_size=words)), dtype=torch.float64)
    pairs = torch.tensor(draw(st.lists(numbers, min_size=words**2, max_size=words**2)), dtype=torch.float64)
    pairs = pairs.view(words, words).triu(1)
    three = draw(numbers)

    def value(x):
        triple = x[:, 0] * x[:, 1] * x[:, -1]
        return x @ single + ((x @ pairs) * x).sum(1) + three * triple

    return value, words


def scores(explainer, value, words):
    formula = Formula(
        dict.fromkeys(LETTERS[:words], 1.0), lambda x: torch.stack([torch.zeros(len(x)).double(), value(x)], 1)
    )
    case = Case.bind(formula, [Example.of(" ".join(LETTERS[:words]))], target="yes")
    return explainer.scores(case)


METHODS = [KernelShap(tolerance=0.0), KernelShap(tolerance=0.0, fit="regression"), IntegratedGradients(steps=8)]


@quick
@given(games())
def test_completeness(game):
    for method in METHODS:
        found = scores(method, *game)
        torch.testing.assert_close(found.values.sum(1), found.measures["difference"].float(), atol=1e-4, rtol=1e-4)


@quick
@given(games(most=5))
def test_a_word_that_does_nothing_scores_nothing(game):
    value, words = game
    for method in [*METHODS, Occlusion(output="logit")]:
        found = scores(method, lambda x: value(x[:, :-1]), words + 1)
        assert found.values[0, -1].abs() < 1e-5


@quick
@given(games(least=2, most=5))
def test_words_that_play_the_same_part_score_the_same(game):
    value, words = game

    def twins(x):
        """The last two words act only together, by how many of them are there."""
        return value(torch.cat([x[:, :-2], x[:, -2:].sum(1, keepdim=True)], 1))

    for method in [*METHODS, Occlusion(output="logit")]:
        found = scores(method, twins, words + 1).values[0]
        torch.testing.assert_close(found[-1], found[-2], atol=1e-4, rtol=1e-4)


@quick
@given(st.lists(numbers, min_size=2, max_size=8), numbers)
def test_additive_models_have_one_explanation(weights, bias):
    single = torch.tensor(weights, dtype=torch.float64)
    expected = single.float()
    for method in [*METHODS, Occlusion(output="logit"), Lime(output="logit", ridge=0.0)]:
        found = scores(method, lambda x: x @ single + bias, len(weights)).values[0]
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@quick
@given(games(), games())
def test_shapley_values_of_a_sum_are_sums(first, second):
    (one, few), (other, many) = sorted((first, second), key=lambda game: game[1])

    def padded(x):
        return one(x[:, :few])

    method = KernelShap(tolerance=0.0)
    apart = scores(method, padded, many).values + scores(method, other, many).values
    together = scores(method, lambda x: padded(x) + other(x), many).values
    torch.testing.assert_close(together, apart, atol=1e-4, rtol=1e-4)
