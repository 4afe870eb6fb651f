"""What every explainer is: settings, what it needs, what it costs, and `scores`. The least of them scores by chance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from torch import Tensor

from veridical.core.component import Component, Seed, option
from veridical.core.values import Gives
from veridical.masking import Case
from veridical.models import Ability

# What options that many methods share are for.
OUTPUT = "The number that is explained: logits still move where the model is sure, probabilities are easier to read."
PIECES = "How a word's score is made from those of its pieces; only the sum keeps the total of all scores."
ERASER = "How words are taken away; scores depend on it, so try another one before you conclude anything."
SEED = "Which random samples are drawn; the same seed gives the same scores."


@dataclass(frozen=True)
class Scores:
    """What a method found: `values` [B, U], one score per unit; slots that are not live are 0.

    A method that draws samples also gives `margins` [B, U], half the width of a 95% interval around each value. A
    method whose scores should add up to something gives the `measures` [B] that `adding_up` makes.
    """

    values: Tensor
    margins: Tensor | None = None
    measures: Mapping[str, Tensor] = field(default_factory=dict)


def adding_up(total: Tensor, difference: Tensor) -> dict[str, Tensor]:
    """The measures of scores that add up to `total` [B], and that should add up to `difference` [B]."""
    return {"difference": difference, "residual": total - difference}


class Explainer(Component, ABC):
    """A method that scores the units of a case, positive where a unit speaks for the target.

    `needs` are abilities of the classifier; a model without them is refused by name. `cost` says, for `n` units, how
    many passes of the model one explanation takes after the prediction. `meaning` says what a score is, and `weakness`
    where not to trust it: they help people choose. `margins` says what the margins cover, where there are some.

    `total` says what the scores add up to, where they should; then there is a residual, which is an error, and `remedy`
    says what to do about a large one.
    """

    needs: ClassVar[frozenset[Ability]] = frozenset()
    cost: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    weakness: ClassVar[str] = ""
    total: ClassVar[str] = ""
    margins: ClassVar[str] = ""

    @property
    def gives(self) -> Gives:
        """What the scores are; only a method whose scores are no signed numbers has to say so."""
        return "signed"

    @property
    def remedy(self) -> str:
        """What to do when the scores do not add up; it may depend on the options."""
        return ""

    def quick(self, units: int) -> Explainer:
        """The same method with cheaper options, to try it out on texts of so many units."""
        return self

    def passes(self, units: int) -> int:
        """The most model inputs that an example of so many units takes, beside the one that binds it to its case."""
        return 1

    @abstractmethod
    def scores(self, case: Case) -> Scores:
        """The scores of a case's units."""


@dataclass(frozen=True)
class Random(Explainer):
    """Independent draws, normal or uniform. Not an explanation: the baseline to compare explanations with."""

    seed: Seed = option(0, SEED)
    draw: Literal["normal", "uniform"] = option("normal", "Draw from a normal distribution, or evenly from 0 to 1.")
    cost: ClassVar[str] = "none"
    meaning: ClassVar[str] = "Nothing: it is chance."
    weakness: ClassVar[str] = (
        "It knows nothing of the model. A method that does not clearly beat it is of no use on your data."
    )

    def passes(self, units: int) -> int:
        return 0

    def scores(self, case: Case) -> Scores:
        scores = torch.zeros(case.live.shape)
        for index, units in enumerate(case.batch.units):
            function = torch.randn if self.draw == "normal" else torch.rand
            # Drawn from the example's own generator: its neighbours in a batch must not change its scores.
            scores[index, : len(units)] = function(len(units), generator=case.generator(index, self.seed))
        return Scores(scores)
