"""KernelSHAP: Shapley values of words from the values of some of their coalitions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Presets, Seed, Weight, Within, option
from veridical.core.errors import InputError
from veridical.explainers.base import ERASER, OUTPUT, SEED, Explainer, Scores, adding_up
from veridical.explainers.coalitions import (
    Weighted,
    all_pairs,
    ask_each,
    enough_samples,
    number_of_pairs,
    spread_pairs,
    weighted_pairs,
)
from veridical.explainers.shapley import exact, gaussian_process, regression
from veridical.masking import Case, EraserName
from veridical.masking.case import Scale

_FIRST_PAIRS = 32
_PER_WORD, _LEAST, _MOST, _FEWEST_PER_WORD = 14, 256, 2000, 4  # 256 are all coalitions of 8 words


def usual_samples(words: int) -> int:
    """How many coalitions of a text are asked about by default: 280 of 20 words."""
    return max(_LEAST, min(_PER_WORD * words, _MOST), _FEWEST_PER_WORD * words)


@dataclass(frozen=True)
class KernelShap(Explainer):
    """Shapley values: what a word adds to the output, averaged over all orders in which the words could come in.

    The scores add up to the output minus that of an empty text. They are exact where all 2^n - 2 coalitions of n words
    fit into `samples`, and else estimates with margins. Coalitions can be texts unlike any the model was trained on.
    Lundberg and Lee 2017.
    """

    samples: Annotated[int, Within(2)] | Literal["auto"] = option(
        "auto",
        "How many coalitions are asked about at most; a text that has no more gets exact values. auto is "
        f"{_PER_WORD} for each word, but at least {_LEAST} and at most {_MOST:,}, or {_FEWEST_PER_WORD} for each word.",
    )
    tolerance: Weight = option(
        0.05,
        "Stop asking when no margin is more than this part of the largest score; 0 asks about all samples. Where all "
        "coalitions fit into samples, all of them are asked.",
    )
    fit: Literal["process", "regression"] = option(
        "process",
        "How values are estimated: a Gaussian process needs fewer questions than KernelSHAP's own regression.",
    )
    output: Scale = option("logit", OUTPUT)
    eraser: EraserName = option("mask", ERASER)
    null_value: float | None = option(None, "The output of an empty text, if the model should not be asked for it.")
    seed: Seed = option(0, SEED)
    cost: ClassVar[str] = "at most samples + 1 forwards, that is 14 n + 1 by default"
    meaning: ClassVar[str] = (
        "What the word adds to the output, averaged over all orders in which words could come in. Signed."
    )
    total: ClassVar[str] = "the output minus that of the empty text"
    margins: ClassVar[str] = "how far the estimate may be from the exact value; 0 where all coalitions were asked"
    weakness: ClassVar[str] = (
        "It asks about texts with most words erased, which are unlike any the model was trained on. Words that act "
        "together share the credit equally, so an interaction cannot be seen."
    )
    presets: ClassVar[Presets] = {
        "l2e": {"samples": 1000, "tolerance": 0.0, "fit": "regression"},
        "l2e-code": {
            "samples": 1000,
            "tolerance": 0.0,
            "fit": "regression",
            "output": "logprob",
            "null_value": 0.0,
        },
    }

    @property
    def remedy(self) -> str:
        return "Allow it more questions: kernel-shap(samples=4000)."

    def passes(self, units: int) -> int:
        return self._samples(units) + 1

    def quick(self, units: int) -> KernelShap:
        return replace(self, samples=enough_samples(units))

    def scores(self, case: Case) -> Scores:
        erased = case.with_eraser(self.eraser)
        whole = case.scaled(case.output.logits, case.targets, self.output).double()
        empty = self._empty(erased)
        games = [self._game(case, index, float(whole[index] - empty[index])) for index in range(len(case))]
        # Round by round: texts that are precise enough drop out, and all others share the batches of the next round.
        while waiting := [(index, game) for index, game in enumerate(games) if not game.done]:
            self._play(erased, waiting)
        scores, margins = torch.zeros(case.live.shape), torch.zeros(case.live.shape)
        for index, game in enumerate(games):
            scores[index, : game.words] = game.values.float()
            margins[index, : game.words] = game.margins.float()
        return Scores(scores, margins, adding_up(scores.sum(1), (whole - empty).float()))

    def _samples(self, words: int) -> int:
        return usual_samples(words) if self.samples == "auto" else self.samples

    def _empty(self, erased: Case) -> Tensor:
        if self.null_value is not None:
            return torch.full((len(erased),), self.null_value, dtype=torch.float64)
        return erased.value(torch.zeros_like(erased.live)[:, None], self.output)[:, 0].double()

    def _game(self, case: Case, index: int, total: float) -> _Game:
        words = len(case.batch.units[index])
        wanted = self._samples(words) // 2  # pairs: each takes two questions
        generator = case.generator(index, self.seed)
        if words < 2:  # there is nothing to divide
            return _Game(words, total, torch.zeros(0, words, dtype=torch.bool))
        if number_of_pairs(words) <= wanted:
            return _Game(words, total, all_pairs(words))
        if wanted < words:  # with fewer pairs than words, neither estimate could tell all words apart
            raise InputError(
                f"{self.samples} samples are too few for the Shapley values of {words} words",
                example=case.batch.examples[index].id,
                remedy=f"Give at least kernel-shap(samples={2 * words}).",
            )
        if self.fit == "process":
            return _Game(words, total, spread_pairs(words, wanted, generator))
        design = weighted_pairs(words, wanted, generator)
        return _Game(words, total, torch.cat([design.whole, design.drawn]), design)

    def _play(self, erased: Case, waiting: list[tuple[int, _Game]]) -> None:
        """Ask the next coalitions of all unfinished games at once, and see which of them are precise enough."""
        pairs = [game.next(everything=self.tolerance <= 0) for _, game in waiting]
        both = [torch.cat([each, ~each]) for each in pairs]
        found = ask_each(erased, [index for index, _ in waiting], both, self.output)
        for (_, game), values in zip(waiting, found, strict=True):
            here, there = values.double().chunk(2)  # of the coalitions and of their complements
            game.learn((here - there) / 2)
            game.estimate(self.tolerance)


@dataclass
class _Game:
    """The words of one text as players: the pairs to ask about, the gaps known so far, and the estimate from them."""

    words: int
    total: float
    pairs: Tensor
    design: Weighted | None = None
    gaps: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.float64))
    values: Tensor = field(init=False)
    margins: Tensor = field(init=False)
    done: bool = False

    def __post_init__(self) -> None:
        self.values = torch.full((self.words,), self.total, dtype=torch.float64)
        self.margins = torch.zeros(self.words, dtype=torch.float64)
        self.done = not len(self.pairs)  # a single word has the whole total

    @property
    def is_whole(self) -> bool:
        """Whether the pairs are all that there are, so that the values are exact."""
        return len(self.pairs) == number_of_pairs(self.words)

    def next(self, everything: bool) -> Tensor:
        """The pairs to ask about now: as many again as are known, or all that are left."""
        # Errors are estimated from drawn pairs, so the first round must go beyond the sizes that are there as a whole.
        known = len(self.gaps)
        first = max(_FIRST_PAIRS, self.words) + (len(self.design.whole) if self.design else 0)
        return self.pairs[known:] if everything or self.is_whole else self.pairs[known : max(first, 2 * known)]

    def learn(self, gaps: Tensor) -> None:
        """Take in the gaps of the pairs that `next` gave."""
        self.gaps = torch.cat([self.gaps, gaps])

    def estimate(self, tolerance: float) -> None:
        """Estimate from all that is known; the game is done if that is precise enough, or all that there is to ask."""
        known = self.pairs[: len(self.gaps)]
        if self.is_whole:
            self.values, errors = exact(known, self.gaps, self.total)
        elif self.design is not None:
            self.values, errors = regression(self.design, self.gaps, self.total)
        else:
            self.values, errors = gaussian_process(known, self.gaps, self.total)
        self.margins = 1.96 * errors  # of a 95% interval
        # Relative to the largest score: words of small effect may stay uncertain, as long as they stay small.
        enough = self.margins.max() <= tolerance * self.values.abs().max()
        self.done = bool(enough) or len(self.gaps) == len(self.pairs)
