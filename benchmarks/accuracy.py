"""How many model queries an accuracy takes: the error of Shapley values against the number of queries.

Every method plays the same games: which words of a text are there, and the logit (or the probability) of the predicted
class. A student guesses by what it has learned from other texts, and is corrected by some questions. Texts of some
dozen words have exact values, by asking about all subsets; a longer one has a reference of 50,000 questions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import estimators
import numpy as np
from games import Game, exact_game, sampled_game
from record import Row, show, write
from workload import Sizes, distilled, reviews, trained

from veridical import explain
from veridical.models import Classifier

FEWER = 3.0
"""How many times our queries Captum's and shap's KernelSHAP need at least for the same error."""

Curve = list[dict[str, float]]


def measure(sizes: Sizes) -> bool:
    """All rows of this part, printed and recorded; whether every bar holds."""
    warnings.simplefilter("ignore")
    folder = trained(sizes.train_on)
    classifier = Classifier.load(str(folder))
    short, longer = (texts_of(classifier, words) for words in (sizes.exact_words, sizes.long_words))
    games = {
        "logit": [exact_game(classifier, example, "logit") for example in short],
        "probability": [exact_game(classifier, example, "prob") for example in short],
        "long": [sampled_game(classifier, example, sizes.reference) for example in longer],
    }
    student = distilled(folder, sizes.train_on)
    for kind, texts in (("logit", short), ("long", longer)):  # the scale on which it has learned
        for game, said in zip(games[kind], explain(classifier, texts, method=student), strict=True):
            game.guess = np.array(said.scores)
    curves = {kind: _curves(kind, each, sizes) for kind, each in games.items()}
    rows = show(_rows(curves, games))
    if sizes.writes:
        about = {kind: [game.about for game in each] for kind, each in games.items()}
        write("accuracy", rows, curves=curves, games=about)
    return all(row.holds for row in rows)


def texts_of(classifier: Classifier, words: tuple[int, ...]) -> list[Any]:
    """For each number of words, another test review of just so many units."""
    pool = reviews(10_000, fewest=3)
    units = [len(each) for each in classifier.encode(pool).units]
    found = []
    for count in words:
        at = next(at for at, size in enumerate(units) if size == count)
        found.append(pool[at])
        units[at] = 0
    return found


def _curves(kind: str, games: list[Game], sizes: Sizes) -> dict[str, Curve]:
    print(f"mean error at each number of queries, {kind}:", flush=True)
    every, refined = estimators.ESTIMATORS, {}
    if games[0].guess is not None:
        budgets = (0, *(sizes.long_budgets if kind == "long" else (*sizes.smaller, *sizes.budgets)))
        refined = curves_of({estimators.REFINED: estimators.student}, games, budgets, sizes.long_seeds)
    if kind != "long":
        found = curves_of(every, games, sizes.budgets, sizes.seeds)
        # Others' largest errors have an equal of ours only at budgets that others do not have.
        start = curves_of({estimators.OURS: every[estimators.OURS]}, games, sizes.smaller, sizes.seeds)
        return {**found, estimators.OURS: start[estimators.OURS] + found[estimators.OURS], **refined}
    few = {name: every[name] for name in estimators.ON_LONG_TEXTS}
    return {**curves_of(few, games, sizes.long_budgets, sizes.long_seeds), **refined}


def curves_of(
    methods: dict[str, Callable[..., Any]], games: list[Game], budgets: tuple[int, ...], seeds: int
) -> dict[str, Curve]:
    """For each method its mean error and its real number of queries at each budget."""
    curves = {}
    for name, method in methods.items():
        points = [_point(method, games, budget, seeds) for budget in budgets]
        curves[name] = [point for point in points if point]
        print(f"  {name:44}", *(f"{p['queries']:.0f}: {p['error']:.4f} " for p in curves[name]), flush=True)
    return curves


def _point(method: Callable[..., Any], games: list[Game], budget: int, seeds: int) -> dict[str, float] | None:
    """The mean over games and seeds; nothing where the budget is too small for the method."""
    errors, queries = [], []
    for game in games:
        for seed in range(seeds):
            game.asked = 0
            try:
                found, asked = method(game, budget, seed)
            except estimators.TooFew:
                return None
            errors.append(np.abs(found - game.values).mean() / np.abs(game.values).mean())
            queries.append(asked)
    spread = float(np.std(errors) / np.sqrt(len(errors)))
    return {"budget": budget, "queries": float(np.mean(queries)), "error": float(np.mean(errors)), "spread": spread}


def _rows(curves: dict[str, dict[str, Curve]], games: dict[str, list[Game]]) -> Iterator[Row]:
    for kind, methods in curves.items():
        counts = [game.words for game in games[kind]]
        words = f"{min(counts)}-{max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
        scale = "logit" if kind == "long" else kind
        for name, curve in methods.items():
            if name != estimators.OURS and curve:
                title = f"equal accuracy, {scale}, {words} words: {name}"
                yield _row(title, methods[estimators.OURS], curve, name in estimators.HELD_AGAINST)


def _row(title: str, ours: Curve, curve: Curve, has_bar: bool) -> Row:
    """The mean over the budgets at which our curve has an equal; where we are always better, the largest bound."""
    asking = [point for point in curve if point["budget"]]  # a student that asks nothing has no equal
    found = [(f"{point['budget']:g}", *needed(ours, point)) for point in asking]
    inside = [ratio for _, ratio, is_bound in found if not is_bound]
    mean = float(np.exp(np.mean(np.log(inside)))) if inside else max(ratio for _, ratio, _ in found)
    shown = ", ".join(f"{budget}: {'>' if is_bound else ''}{ratio:.1f}" for budget, ratio, is_bound in found)
    facts = {budget: {"ratio": round(ratio, 3), "is bound": is_bound} for budget, ratio, is_bound in found}
    bar = FEWER if has_bar else None
    return Row(title, round(mean, 2), f"times our queries, at its budget of {shown}", at_least=bar, facts=facts)


def needed(ours: Curve, point: dict[str, float]) -> tuple[float, bool]:
    """How many times our queries a point's queries are, where our error is that of the point.

    Between our points the error is interpolated on logarithmic scales. Where even our smallest budget is better, the
    ratio is more than what is given, a bound. Where our largest is not as good, we are taken to need as many more
    queries as if errors fell with the root of their number.
    """
    errors = np.minimum.accumulate([max(each["error"], 1e-12) for each in ours])
    queries = [each["queries"] for each in ours]
    wanted = max(point["error"], 1e-12)
    same = float(np.exp(np.interp(np.log(wanted), np.log(errors)[::-1], np.log(queries)[::-1])))
    lacking = max(1.0, float(errors[-1]) / wanted)
    return point["queries"] / (same * lacking**2), bool(wanted > errors[0])
