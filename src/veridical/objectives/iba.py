"""IBA: an information bottleneck lets through what the model needs of each word, and noise instead of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Weight, option
from veridical.core.values import Example
from veridical.explainers.iba import Bottleneck, IBALayer, Usual, information
from veridical.explainers.mask_layers import MaskLayer
from veridical.masking import Case
from veridical.models import Classifier, Rows
from veridical.objectives.mask_layers import LOOKED_AT, MaskObjective, MaskTraining, kept_of, mean_of_words


@dataclass(frozen=True)
class IBA(MaskObjective):
    """Learns from texts of which a bottleneck has replaced a part of each word by noise (Schulz et al. 2020).

    The noise has the mean and the spread of embeddings. The loss is the plain one of such texts, and the mean
    information that is let through, in nats. One pass of the model in each step. It leaves the explainer `iba`; the
    explainer `iba-per-sample` needs no training.
    """

    information: Weight = option(10.0, "The weight of the mean information that is let through.")
    name: ClassVar[str] = "iba"

    @property
    def reads_output(self) -> bool:
        return bool(self.ce_full)

    def layer(self, size: int, states: int) -> MaskLayer:
        return IBALayer(size, states, self.width, seed=self.seed)

    def with_layer(self, layer: MaskLayer) -> IBATraining:
        assert isinstance(layer, IBALayer)
        return IBATraining(self, layer)

    def of(self, layer: MaskLayer, classifier: Classifier, examples: Sequence[Example]) -> IBATraining:
        assert isinstance(layer, IBALayer)
        network = layer.network
        assert isinstance(network, Bottleneck)
        usual = Usual.of(classifier, examples[:LOOKED_AT])
        network.mean.copy_(usual.mean)
        network.spread.copy_(usual.spread)
        return self.with_layer(layer)


@dataclass(frozen=True)
class IBATraining(MaskTraining):
    """The objective with the bottleneck that is trained."""

    settings: IBA
    layer: IBALayer

    def __call__(self, case: Case) -> dict[str, Tensor]:
        rows, told = case.batch.rows, list[Tensor]()

        def enter(states: Tensor) -> Tensor:
            logits = self.layer.logits([states] * self.layer.states)  # [R, T]
            told.append(information(logits[..., None], self.layer.usual.standard(states)).mean(-1))
            return self._blended(rows, states, logits, torch.randn_like(states))

        front = case.run(rows, enter=enter)
        spent = mean_of_words(case, told[0], self.words(rows, told[0].shape[1]))
        terms = {**self.whole(case), "masked": self.loss(case, front)}
        return {**terms, "information": self.settings.information * spent}

    def tested(self, rows: Rows, hidden: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
        """The mean takes the place of noise."""
        logits = self.layer.logits(hidden)
        return lambda states: self._blended(rows, states, logits, torch.zeros_like(states))

    def _blended(self, rows: Rows, states: Tensor, logits: Tensor, noise: Tensor) -> Tensor:
        """Words [R, T, d] of which a share is kept, which logits [R, T] give; `noise` is in standard deviations."""
        words = self.words(rows, logits.shape[1])
        return self.layer.usual.blended(states, kept_of(states, logits.sigmoid(), words), noise)
