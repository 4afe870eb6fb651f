"""The model agrees with published numbers, with closed forms and with a slow search that writes it out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize

from veridical.core.errors import InputError
from veridical.people import Ranking
from veridical.people import davidson_luce as model
from veridical.people.davidson_luce import choices_of, covariance, fitted

Study = Callable[..., list[Ranking]]


def of(*ranks: Mapping[str, int]) -> list[Ranking]:
    return [Ranking(f"{at:03d}", "ada", each) for at, each in enumerate(ranks)]


def found(rankings: Sequence[Ranking], pseudo: float = 0.5) -> tuple[dict[str, float], dict[int, float]]:
    """The log worths, and the log prevalence of ties by their size."""
    choices = choices_of(rankings)
    values = fitted(choices, np.ones((1, len(rankings))), pseudo)[0]
    items = len(choices.items)
    return dict(zip(choices.items, values[:items], strict=True)), dict(zip(choices.tied, values[items:], strict=True))


FRUIT = of(
    {"apple": 1, "banana": 2},
    {"banana": 1, "orange": 2, "pear": 3, "apple": 4},
    {"banana": 1, "orange": 1, "pear": 1, "apple": 4},
    {"apple": 1, "banana": 2, "orange": 3},
    {"banana": 1, "orange": 1, "apple": 3},
    {"apple": 1, "pear": 2, "orange": 3},
)
TOY = of({"A": 1, "B": 2}, {"C": 1, "A": 2}, {"A": 1, "D": 2}, {"B": 1, "A": 2}, {"B": 1, "C": 2})


def test_ties_partial_rankings_and_the_ghost_as_in_the_r_package() -> None:
    """The example on the page of the function PlackettLuce of the R package, with its printed coefficients."""
    worths, ties = found(FRUIT)
    less = {item: worth - worths["apple"] for item, worth in worths.items()}
    assert less == pytest.approx(
        {"apple": 0, "banana": 0.25287380, "orange": -0.61350684, "pear": -0.08688469}, abs=5e-5
    )
    assert ties == pytest.approx({2: -2.15068112, 3: -0.79245362}, abs=5e-4)


def test_an_item_that_always_loses_as_in_the_r_package() -> None:
    """An example of the package's vignette; without D and without the ghost, another one of it."""
    worths, ties = found(TOY)
    less = {item: worth - worths["A"] for item, worth in worths.items()}
    assert less == pytest.approx({"A": 0, "B": 0.5184185, "C": 0.1354707, "D": -1.1537565}, abs=1e-6)
    assert ties == {}
    worths, _ = found([each for each in TOY if "D" not in each.ranks], pseudo=0)
    assert [worths["B"] - worths["A"], worths["C"] - worths["A"]] == pytest.approx([0.8392, 0.4196], abs=5e-5)


def test_two_items_win_by_the_odds() -> None:
    worths, _ = found(of(*[{"a": 1, "b": 2}] * 7, *[{"b": 1, "a": 2}] * 2), pseudo=0)
    assert worths["a"] - worths["b"] == pytest.approx(math.log(7 / 2))


def test_equal_items_tie_by_the_prevalence() -> None:
    """With prevalence d they tie with probability d / (2 + d)."""
    _, ties = found(of(*[{"a": 1, "b": 2}] * 5, *[{"b": 1, "a": 2}] * 5, *[{"a": 1, "b": 1}] * 4), pseudo=0)
    prevalence = math.exp(ties[2])
    assert prevalence / (2 + prevalence) == pytest.approx(4 / 14, abs=1e-4)


def test_a_tie_is_half_a_win_for_each() -> None:
    """Ties pull worths together, but they are no reason to prefer either."""
    wins = [{"a": 1, "b": 2}] * 6 + [{"b": 1, "a": 2}] * 2
    without, with_ties = found(of(*wins))[0], found(of(*wins, *[{"a": 1, "b": 1}] * 20))[0]
    assert 0 < with_ties["a"] - with_ties["b"] < without["a"] - without["b"]


def written_out(rankings: Sequence[Ranking]) -> dict[str, float]:
    """The same by the definition: every choice, all that might have been chosen, and a search without derivatives."""
    items = sorted({item for each in rankings for item in each.ranks})
    orders = [*(each.groups for each in rankings)]
    orders += [order for item in items for order in [((item,), ("ghost",)), (("ghost",), (item,))]]
    weights = [1.0] * len(rankings) + [0.5] * 2 * len(items)
    steps = [
        (weight, group, [item for later in order[at:] for item in later])
        for weight, order in zip(weights, orders, strict=True)
        for at, group in enumerate(order)
    ]
    tied = sorted({len(group) for _, group, left in steps} - {1})

    def loss(values: np.ndarray) -> float:
        worth = {**dict(zip(items, values, strict=False)), "ghost": 0.0}
        prevalence = {1: 0.0, **dict(zip(tied, values[len(items) :], strict=True))}

        def log_weight(group: Sequence[str]) -> float:
            return prevalence[len(group)] + sum(worth[item] for item in group) / len(group)

        total = 0.0
        for weight, group, left in steps:
            options = [log_weight(each) for size in prevalence for each in combinations(left, size)]
            total -= weight * (log_weight(group) - np.logaddexp.reduce(options))
        return total

    values = optimize.minimize(loss, np.zeros(len(items) + len(tied)), options={"gtol": 1e-7}).x
    return dict(zip(items, values, strict=False))


@pytest.mark.parametrize("seed", range(3))
def test_rankings_with_ties_agree_with_the_model_written_out(study: Study, seed: int) -> None:
    rankings = study([1, 0, -1, 0.5], 6, 2, seed=seed, step=1.0)
    rankings += [Ranking("partial", f"p{at}", {"A": 1, "E": 2, "C": 3}) for at in range(2)]
    assert found(rankings)[0] == pytest.approx(written_out(rankings), abs=2e-3)


def test_a_choice_is_of_what_is_left() -> None:
    choices = choices_of(of({"a": 2, "b": 1, "c": 2, "d": 4}))
    assert choices.items == ("a", "b", "c", "d")
    assert choices.tied == (2,)
    assert choices.chosen[0] == pytest.approx([0.5, 1, 0.5, 0, 1])  # b, then a and c together; d is no choice
    chosen_from = np.flatnonzero(choices.sets[0])
    sizes = np.bincount(choices.set_of)[chosen_from]
    assert sorted(sizes) == [3 + 3, 4 + 6]  # of three and of four items, single or in pairs


def test_the_gradient_is_that_of_the_likelihood(study: Study) -> None:
    choices = choices_of(study([1, 0, -1], 8, 1, seed=0, step=1.0))
    counts = np.ones((1, len(choices.chosen)))
    chosen, sets = counts @ choices.chosen, counts @ choices.sets
    at = np.random.default_rng(0).normal(size=choices.options.shape[1])

    def likelihood(values: np.ndarray) -> float:
        totals = np.bincount(choices.set_of, np.exp(choices.options @ values))
        ridge = model._RIDGE / 2 * (values[len(choices.items) :] ** 2).sum()
        return float(chosen[0] @ values - sets[0] @ np.log(totals) - ridge)

    gradient, curvature = model._derivatives(choices, at[None], chosen, sets)
    assert gradient[0] == pytest.approx(optimize.approx_fprime(at, likelihood, 1e-6), abs=1e-3)
    steps = [model._derivatives(choices, (at + step)[None], chosen, sets)[0][0] for step in 1e-6 * np.eye(len(at))]
    assert curvature[0] == pytest.approx((gradient[0] - np.stack(steps)) / 1e-6, abs=1e-3)


def test_draws_are_fitted_each_by_itself(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    rankings = study([1, 0, -1], 10, 1, seed=0, step=1.0)
    choices = choices_of(rankings)
    weights = np.random.default_rng(0).integers(0, 3, (7, len(rankings))).astype(float)
    together = fitted(choices, weights)
    assert np.stack([fitted(choices, each[None])[0] for each in weights]) == pytest.approx(together, abs=1e-6)
    monkeypatch.setattr(model, "_PORTION", 1)
    assert fitted(choices, weights) == pytest.approx(together, abs=1e-6)


def test_a_count_is_as_many_rankings() -> None:
    twice = fitted(choices_of(TOY), np.array([[2.0, 1, 1, 0, 1]]))[0]
    rankings = [TOY[at] for at in (0, 0, 1, 2, 4)]
    assert found(rankings)[0] == pytest.approx(dict(zip("ABCD", twice, strict=True)))


def test_a_draw_of_nothing_says_nothing() -> None:
    assert fitted(choices_of(FRUIT), np.zeros((1, len(FRUIT))))[0][:4] == pytest.approx(0, abs=1e-6)


def test_worths_are_finite_whatever_people_say() -> None:
    always = of(*[{"a": 1, "b": 2, "c": 3}] * 500)
    assert 5 < found(always)[0]["a"] - found(always)[0]["c"] < 20
    worths, ties = found(of(*[dict.fromkeys("abc", 1)] * 500))
    assert worths == pytest.approx(dict.fromkeys("abc", 0), abs=1e-6)
    assert 5 < ties[3] < 20


def test_the_model_knows_how_sure_it_is() -> None:
    """The variance of log odds is 1 over the wins plus 1 over the losses; the ghost hardly counts here."""
    rankings = of(*[{"a": 1, "b": 2}] * 300, *[{"b": 1, "a": 2}] * 200)
    choices = choices_of(rankings)
    spread = covariance(choices, fitted(choices, np.ones((1, 500)))[0])
    assert spread[0, 0] + spread[1, 1] - 2 * spread[0, 1] == pytest.approx(1 / 300 + 1 / 200, rel=0.02)


def test_more_than_can_be_gone_through_is_refused() -> None:
    names = [f"item {at:02d}" for at in range(20)]
    ranks = {name: 1 if at < 9 else 10 for at, name in enumerate(names)}
    with pytest.raises(
        InputError, match=r"ties of up to 11, a choice among 20 items .* possible outcomes.*fewer items"
    ):
        choices_of(of(ranks))
    assert len(choices_of(of({name: at + 1 for at, name in enumerate(names)})).items) == 20
