"""DeepSHAP: DeepLift against many real examples instead of one empty one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets, Seed, Within, option
from veridical.core.errors import UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.data.dataset import Chance
from veridical.explainers.base import OUTPUT, PIECES, SEED, Explainer, Scores, adding_up
from veridical.explainers.baselines import check_windows
from veridical.explainers.deep_lift import NO_RULE, RULES, contributions
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Rows

_SCORES_AT_ONCE = 2**22
_FEW = 8


@dataclass(frozen=True)
class DeepSHAP(Explainer):
    """Each word's share of the difference to the mean output of background texts; which texts these are matters.

    The mean of DeepLift's shares over background examples, of which the explained one is never one. Positions are
    compared: the tenth word with the tenth words of other texts, which are cut or padded to its text's length. Margins
    tell how sure the mean is. The preset `captum` has the rules of Captum's DeepLiftShap: see deep-lift.
    Lundberg and Lee 2017.
    """

    samples: Annotated[int, Within(2)] = option(
        100, "How many background examples are drawn; the margins tell whether these were enough."
    )
    background: str | None = option(
        None, "The data to compare with, such as reviews:train; without it, what the model was trained on."
    )
    complete: bool = option(True, RULES)
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
    seed: Seed = option(0, SEED)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS, Ability.DELETE})
    cost: ClassVar[str] = "samples x (2 forwards, 1 backward)"
    meaning: ClassVar[str] = (
        "The word's share of the difference between the output for the text and for background texts. Signed."
    )
    total: ClassVar[str] = (
        "the output minus its mean over the background, unless `complete=false`; special tokens have shares, too"
    )
    margins: ClassVar[str] = "how far other background texts would move the mean"
    weakness: ClassVar[str] = (
        "Another background gives other scores. A word is compared with whatever stands at its place in other texts, "
        "and how the rules split products is a convention."
    )
    presets: ClassVar[Presets] = {
        "l2e": {"samples": 1000},
        "l2e-imdb-r": {"samples": 500},
        "captum": {"complete": False},
    }

    @property
    def remedy(self) -> str:
        return NO_RULE if self.complete else "Use deep-shap(complete=true)."

    def passes(self, units: int) -> int:
        return 2 * self.samples

    def quick(self, units: int) -> DeepSHAP:
        return replace(self, samples=_FEW)

    def scores(self, case: Case) -> Scores:
        check_windows(case, self.output, "deep-shap")
        others = self._others(case)
        counts = torch.tensor([len(each) for each in others])
        totals = torch.zeros(2, len(case), dtype=torch.float64)
        # In double precision: the variance is a difference of two sums of nearly the same size.
        sums, squares = torch.zeros(2, *case.live.shape, dtype=torch.float64)
        for tokens in self._visits(case, others, counts, totals):
            units = case.to_units(tokens, self.pieces).double()
            sums += units
            squares += units.square()
        mean = sums / counts[:, None]
        # The variance of the mean: of single backgrounds n / (n - 1) times this, and of the mean 1 / n of that.
        variance = (squares / counts[:, None] - mean.square()).clamp(min=0) / (counts[:, None] - 1)
        return Scores(mean.float(), (1.96 * variance.sqrt()).float(), adding_up(*totals / counts))

    def _visits(self, case: Case, others: list[list[Example]], counts: Tensor, totals: Tensor) -> Iterator[Tensor]:
        """Token scores [R, L] against one background example after the other; 0 where an example has no more of them.

        Meanwhile `totals` [2, B] are summed up: the scores of all positions, and what these should add up to.
        """

        def shared_out(before: int, rows: Rows, visit: Tensor) -> Tensor:
            met = [others[owner][before + at] for owner, at in zip(rows.owner.tolist(), visit.tolist(), strict=True)]
            shares, apart = contributions(case, rows, reference(case, rows, met), self.output, self.complete)
            totals.index_add_(1, rows.owner, torch.stack([shares.sum((1, 2)), apart]).double().cpu())
            return shares.sum(-1)

        # Scores of many visits are kept at once, and their number must not grow with the number of samples.
        most = int(counts.max())
        step = max(1, _SCORES_AT_ONCE // case.batch.rows.unit_of.numel())
        for before in range(0, most, step):
            wanted = torch.arange(before, min(before + step, most)) < counts[:, None]  # [B, V]
            yield from case.rowvisits(partial(shared_out, before), wanted, copies=2)

    def _others(self, case: Case) -> list[list[Example]]:
        """The background of each example."""
        name = self.background or case.classifier.trained_on
        if name is None:
            raise UsageError(
                "deep-shap needs examples to compare with, and the model does not say what it was trained on",
                remedy="Name some data: deep-shap(background=reviews:train).",
            )
        drawn = Chance("background", self.seed).shuffled(load(name).examples)
        return [self._without(example, drawn, name) for example in case.batch.examples]

    def _without(self, example: Example, drawn: Sequence[Example], name: str) -> list[Example]:
        if drawn and drawn[0].inputs.keys() != example.inputs.keys():
            there, wanted = (" and ".join(sorted(each.inputs)) for each in (drawn[0], example))
            raise UsageError(
                f"the background {name} has {there}, and the examples have {wanted}",
                remedy="Choose a background of the same kind: deep-shap(background=...).",
            )
        # By content, not by id: the same text has the same scores wherever it comes from.
        others = list(islice((each for each in drawn if each.inputs != example.inputs), self.samples))
        if len(others) < 2:
            raise UsageError(f"the background {name} has {len(others)} other examples", remedy="Choose a larger one.")
        return others


def reference(case: Case, rows: Rows, examples: Sequence[Example]) -> Tensor:
    """The embeddings [r, l, d] of other examples, one for each row, cut or padded to the row's length.

    Words at the end are cut and special tokens stay; of a text of several windows, the first window is taken.
    """
    classifier, width = case.classifier, rows.unit_of.shape[1]
    # The longest of the rows' own examples is encoded too, so that there is padding enough.
    longest = case.batch.examples[int(rows.owner[rows.lengths.argmax()])]
    encoded = classifier.encode([*examples, longest]).rows
    first = torch.searchsorted(encoded.owner, torch.arange(len(examples) + 1))
    whole = encoded.select(first)
    lengths = torch.cat([rows.lengths, torch.tensor([width])])
    words = whole.unit_of >= 0
    words_left = words.flip(1).cumsum(1).flip(1)  # how many words there are from each position on, [r + 1, l]
    # Of a text that is k positions too long, the last k words go; special tokens after them stay.
    gone = words & (words_left <= (whole.lengths - lengths)[:, None])
    fitted = replace(classifier.drop(whole, gone), lengths=lengths).select(torch.arange(len(examples)))
    return classifier.embed(fitted).detach()
