"""Estimators of Shapley values, ours and others', as functions of a game, a budget of queries and a seed.

Each gives the values [M] and the number of queries it really made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from games import Game

from veridical.core.errors import VeridicalError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, WordStudent
from veridical.explainers.students import refined
from veridical.masking import Case
from veridical.testing.formula import Formula

ShapleyEstimate = tuple[np.ndarray, int]


class TooFew(Exception):  # noqa: N818
    """The budget is too small for this method."""


def ours(settings: str) -> Callable[[Game, int, int], ShapleyEstimate]:
    """Our explainer on a model that answers from the game's table."""

    def estimate(game: Game, budget: int, seed: int) -> ShapleyEstimate:
        case = bound(game)
        explainer = EXPLAINERS.create(f"kernel-shap({settings}samples={budget}, output={game.scale}, seed={seed})")
        try:
            scores = explainer.scores(case).values[0]
        except VeridicalError as error:
            raise TooFew from error
        return scores.double().numpy(), int(case.asked[0])

    return estimate


def bound(game: Game) -> Case:
    """A case that answers from the game's table."""
    return Case.bind(_classifier(game), [Example.of(" ".join(_words(game)))], target="yes")


def student(game: Game, budget: int, seed: int) -> ShapleyEstimate:
    """A student's guess, corrected by so many questions; with none it is the guess itself, for one pass."""
    if game.guess is None:
        raise TooFew
    if not budget:
        return game.guess, 1
    case = bound(game)
    own = WordStudent(labels=case.classifier.labels, words=1, game=game.scale, refine=budget, seed=seed)
    found = refined(case, torch.from_numpy(game.guess).float()[None], own)
    return found.values[0].double().numpy(), int(case.asked[0])


def captum(game: Game, budget: int, seed: int) -> ShapleyEstimate:
    """Captum's KernelShap."""
    from captum.attr import KernelShap

    torch.manual_seed(seed)
    explainer = KernelShap(lambda keep: torch.from_numpy(game(keep.numpy())))
    found = explainer.attribute(torch.ones(1, game.words), n_samples=budget, perturbations_per_eval=64)
    return found[0].double().numpy(), game.asked


def shap_kernel(l1_reg: Any = False) -> Callable[[Game, int, int], ShapleyEstimate]:
    """shap's KernelExplainer; by default it keeps only ten words, `l1_reg=False` keeps all."""

    def estimate(game: Game, budget: int, seed: int) -> ShapleyEstimate:
        import shap

        np.random.seed(seed)
        explainer = shap.KernelExplainer(game, np.zeros((1, game.words)))
        found = explainer.shap_values(np.ones((1, game.words)), nsamples=budget, l1_reg=l1_reg, silent=True)
        return np.asarray(found)[0], game.asked

    return estimate


def shap_permutation(game: Game, budget: int, seed: int) -> ShapleyEstimate:
    """shap's PermutationExplainer."""
    import shap

    if budget < 2 * game.words + 1:
        raise TooFew
    masker = shap.maskers.Independent(np.zeros((1, game.words)))
    explainer = shap.explainers.Permutation(game, masker, seed=seed)
    return explainer(np.ones((1, game.words)), max_evals=budget, silent=True).values[0], game.asked


def shapiq(name: str, **settings: Any) -> Callable[[Game, int, int], ShapleyEstimate]:
    """An approximator of shapiq; `leverage` draws all sizes equally often, as leverage scores do."""
    leverage = settings.pop("leverage", False)

    def estimate(game: Game, budget: int, seed: int) -> ShapleyEstimate:
        import shapiq

        more = {"sampling_weights": _sizes_alike(game.words)} if leverage else {}
        approximator = getattr(shapiq, name)(n=game.words, random_state=seed, **settings, **more)
        try:
            found = approximator.approximate(budget=budget, game=game)
        except ValueError as error:
            raise TooFew from error
        return np.array([found[(word,)] for word in range(game.words)]), game.asked

    return estimate


def _sizes_alike(words: int) -> np.ndarray:
    return np.array([0.0, *[1.0] * (words - 1), 0.0])


def _words(game: Game) -> list[str]:
    return [f"w{index}" for index in range(game.words)]


def _classifier(game: Game) -> Formula:
    """A model that reads which words are there; its logit (or probability) of `yes` is the game's value."""

    def logits(present: torch.Tensor) -> torch.Tensor:
        found = torch.from_numpy(game.ask(present.numpy() > 0.5)).double()
        logit = found if game.scale == "logit" else found.clamp(1e-12, 1 - 1e-12).logit()
        return torch.stack([torch.zeros_like(logit), logit], dim=1)

    return Formula(dict.fromkeys(_words(game), 1.0), logits)


OURS = "veridical kernel-shap"
REFINED = "veridical student, refined"
HELD_AGAINST = ("captum KernelShap", "shap KernelExplainer")
"""The bar is about these, at their best: shap without the selection of ten words."""

ESTIMATORS: dict[str, Callable[[Game, int, int], ShapleyEstimate]] = {
    OURS: ours("tolerance=0.0, "),
    "veridical kernel-shap (preset=l2e)": ours("preset=l2e, "),
    "captum KernelShap": captum,
    "shap KernelExplainer": shap_kernel(),
    "shap KernelExplainer (default: 10 words)": shap_kernel("num_features(10)"),
    "shap PermutationExplainer": shap_permutation,
    "shapiq KernelSHAP": shapiq("KernelSHAP"),
    "shapiq KernelSHAP (paired)": shapiq("KernelSHAP", pairing_trick=True),
    "shapiq KernelSHAP (paired, leverage)": shapiq("KernelSHAP", pairing_trick=True, leverage=True),
    "shapiq UnbiasedKernelSHAP": shapiq("UnbiasedKernelSHAP"),
    "shapiq SVARM": shapiq("SVARM"),
    "shapiq PermutationSamplingSV": shapiq("PermutationSamplingSV"),
    "shapiq StratifiedSamplingSV": shapiq("StratifiedSamplingSV"),
    "shapiq OwenSamplingSV": shapiq("OwenSamplingSV"),
    "shapiq kADDSHAP": shapiq("kADDSHAP"),
}

ON_LONG_TEXTS = (OURS, "captum KernelShap", "shap KernelExplainer", "shapiq KernelSHAP (paired, leverage)")
"""Where each question costs a run of the model."""
