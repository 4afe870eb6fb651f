"""What a text is compared with: the baseline of methods that divide the difference to it among the words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch

from veridical.core.component import option
from veridical.core.errors import UnsupportedError
from veridical.explainers.base import OUTPUT, PIECES, Explainer
from veridical.explainers.gradients import AGGREGATE, Aggregate
from veridical.masking import Case
from veridical.masking.case import Pieces, Scale
from veridical.models import Ability, Classifier, Rows

Baseline = Literal["auto", "all", "content", "mask"]
"""Zero at all positions or at those of words only, mask vectors in place of words, or what suits the model."""


@dataclass(frozen=True)
class Comparing(Explainer):
    """What integrated gradients and DeepLift share: scores are shares of the difference to a baseline."""

    baseline: Baseline = option(
        "auto",
        "What a text is compared with: zero embeddings at all positions, as in the papers, or at those of words only "
        "(content), or mask vectors in place of words (mask); auto is all, but mask where a model has no biases.",
    )
    aggregate: Aggregate = option("sum", AGGREGATE)
    output: Scale = option("logit", OUTPUT)
    pieces: Pieces = option("sum", PIECES)
    needs: ClassVar[frozenset[Ability]] = frozenset({Ability.GRADIENTS})

    def start(self, classifier: Classifier, rows: Rows) -> Rows:
        """The rows of the baseline: the same with other embeddings."""
        baseline = usual(classifier) if self.baseline == "auto" else self.baseline
        if baseline == "all":
            return replace(rows, gate=torch.zeros(rows.unit_of.shape), fill="zero")
        if baseline == "mask":  # asked for by name; the usual baseline is never one that a model lacks
            classifier.require(Ability.MASK, asker="the baseline of mask vectors")
        # What belongs to no unit, a special token or a field that is held, stays as it is.
        return replace(rows, gate=(rows.unit_of < 0).float(), fill="mask" if baseline == "mask" else "zero")


def usual(classifier: Classifier) -> Literal["all", "mask"]:
    """Zero embeddings, but for a model without biases mask vectors, which are a text.

    Without biases a layer that normalises gives the same for a vector and for a thousandth of it, but 0 for 0. All the
    difference then comes from a jump at the very start of the way from 0, where no number of steps can follow it.
    """
    return "all" if classifier.has_biases or Ability.MASK not in classifier.provides else "mask"


def check_windows(case: Case, scale: Scale, method: str) -> None:
    """Refuse the probability of a text of several windows: only their logits are averaged, so it has no parts."""
    if scale != "logit" and len(case.batch.rows) > len(case):
        raise UnsupportedError(
            f"{method} of a {scale} is not defined window by window", remedy="Use output=logit, or long=truncate."
        )
