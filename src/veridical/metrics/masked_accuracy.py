"""Masked accuracy: is the decision the gold label when the model reads a text through the layer it was trained with?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from veridical.core.component import option
from veridical.masking import Case
from veridical.metrics.base import Measured, Metric, Need, Subject, known_gold
from veridical.models import Classifier

if TYPE_CHECKING:
    from veridical.objectives.mask_layers import MaskTraining


@dataclass(frozen=True)
class MaskedAccuracy(Metric):
    """1 where the model decides for the gold label with its mask layer in place, 0 where it does not.

    The layer is one that was trained with the model, by `scc`, `vmask`, `l2x` or `iba`. It reads the whole text, and
    the model then reads the text of which it has masked words; nothing is drawn by chance. VMASK tests models in this
    way, and SCC on whole texts, which is `accuracy`: here both have documents, intervals and paired tests.
    """

    layer: str | None = option(None, "The name of the layer, for a model that has several; none: the only one.")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ONE_CLASS})
    subject: ClassVar[Subject] = "model"
    meaning: ClassVar[str] = "How often the model decides for the gold label when its mask layer is in place."
    weakness: ClassVar[str] = (
        "A layer may tell the label by what it keeps, and then this is high whatever the words say: look at "
        "`evaluator-leak`. A model that masks nothing has the accuracy of whole texts."
    )
    fewest: ClassVar[int] = 1
    percent: ClassVar[bool] = True
    ranks: ClassVar[bool] = False
    comparable: ClassVar[bool] = True

    def questions(self, units: int) -> int:
        return 2  # the states of the whole text, and the masked text

    def require(self, classifier: Classifier) -> None:
        self._mask(classifier)

    def __call__(self, case: Case, scores: Tensor) -> Measured:
        # The scores play no part: whoever asks again has the same answer.
        decided = case.once(self, lambda: case.logits_through(self._mask(case.classifier).tested).argmax(1))
        found = zip(known_gold(case), decided.tolist(), strict=True)
        return Measured(torch.tensor([math.nan if gold is None else float(gold == made) for gold, made in found]))

    def _mask(self, classifier: Classifier) -> MaskTraining:
        """What reads the text first; what knows how it was trained is above us, and loaded only then."""
        from veridical.objectives.trained_masks import trained_mask

        return trained_mask(classifier, self.layer)
