"""DeepSHAP: DeepLift against many real examples instead of one empty one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets
from veridical.core.errors import UsageError
from veridical.core.example import Example
from veridical.data import load
from veridical.data.splits import Chance
from veridical.explainers.base import Explainer, Scores, adding_up
from veridical.explainers.deep_lift import contributions
from veridical.explainers.embedding_gradients import check_windows
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Rows

_SCORES_AT_ONCE = 2**22


@dataclass(frozen=True)
class DeepSHAP(Explainer):
    """Each word's share of the difference to the mean output of background texts; which texts these are matters.

    The mean of DeepLift's shares over `samples` examples, drawn by `seed` from the data named by `background` (by
    default what the model was trained on) without the explained one. Position meets position there: the tenth word is
    compared with the tenth words of other texts, which are cut or padded to its text's length. The shares of all
    positions add up, unless `complete` is off. Margins tell how sure the mean is.
    """

    samples: int = 100
    background: str | None = None
    complete: bool = True
    output: Scale = "logit"
    pieces: Pieces = "sum"
    seed: int = 0
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
    presets: ClassVar[Presets] = {"l2e": {"samples": 1000}, "l2e-imdb-r": {"samples": 500}}

    def passes(self, units: int) -> int:
        return 2 * self.samples

    def scores(self, case: Case) -> Scores:
        check_windows(case, self.output, "deep-shap")
        others = self._others(case)
        counts = torch.tensor([len(each) for each in others])
        totals = torch.zeros(2, len(case), dtype=torch.float64)
        sums, squares = torch.zeros(2, *case.live.shape, dtype=torch.float64)
        for tokens in self._visits(case, others, counts, totals):
            units = case.to_units(tokens, self.pieces).double()
            sums += units
            squares += units.square()
        mean = sums / counts[:, None]
        variance = (squares / counts[:, None] - mean.square()).clamp(min=0) / (counts[:, None] - 1)  # of the mean
        return Scores(mean.float(), (1.96 * variance.sqrt()).float(), adding_up(*totals / counts))

    def _visits(self, case: Case, others: list[list[Example]], counts: Tensor, totals: Tensor) -> Iterator[Tensor]:
        """Token scores [R, L] against one background example after the other; 0 where an example has no more.

        `totals` [2, B] sums up the scores of all positions, and the differences they share out.
        """

        def shared_out(before: int, rows: Rows, visit: Tensor) -> Tensor:
            met = [others[owner][before + at] for owner, at in zip(rows.owner.tolist(), visit.tolist(), strict=True)]
            embeds = case.classifier.embed(rows).detach()
            shares, apart = contributions(case, rows, embeds, reference(case, rows, met), self.output, self.complete)
            totals.index_add_(1, rows.owner, torch.stack([shares.sum((1, 2)), apart]).double().cpu())
            return shares.sum(-1)

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
        if self.samples < 2:
            raise UsageError(f"deep-shap(samples={self.samples}) has no margins", remedy="Use at least 2.")
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

    Words at the end are cut, special tokens stay; of a text of several windows the first is taken.
    """
    classifier, width = case.classifier, rows.unit_of.shape[1]
    # The longest of the rows' own examples is encoded too, so that there is padding enough.
    longest = case.batch.examples[int(rows.owner[rows.lengths.argmax()])]
    encoded = classifier.encode([*examples, longest]).rows
    first = torch.searchsorted(encoded.owner, torch.arange(len(examples) + 1))
    whole = encoded.select(first)
    lengths = torch.cat([rows.lengths, torch.tensor([width])])
    words = whole.unit_of >= 0
    words_left = words.flip(1).cumsum(1).flip(1)  # from each position on
    gone = words & (words_left <= (whole.lengths - lengths)[:, None])
    fitted = replace(classifier.drop(whole, gone), lengths=lengths).select(torch.arange(len(examples)))
    return classifier.embed(fitted).detach()
