"""IBA: an information bottleneck lets through what the model needs of each word, and noise instead of the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Weight, option
from veridical.core.values import Example
from veridical.explainers.mask_layers import Bottleneck, IBALayer, MaskLayer, information
from veridical.masking import Case
from veridical.models import Classifier, Rows
from veridical.objectives.mask_layers import MaskObjective, MaskTraining, mean_of_words

_LOOKED_AT = 256
"""How many training texts tell what embeddings are like on average."""

_LEAST_SPREAD = 0.01


@dataclass(frozen=True)
class IBA(MaskObjective):
    """Learns from texts of which a bottleneck has replaced a part of each word by noise (Schulz et al. 2020).

    The noise has the mean and the spread of embeddings. The loss is the plain one of such texts, and the mean
    information that is let through, in nats. One pass of the model in each step. It leaves the explainer `iba`.
    """

    information: Weight = option(10.0, "The weight of the mean information that is let through.")
    name: ClassVar[str] = "iba"

    @property
    def reads_output(self) -> bool:
        return bool(self.ce_full)

    def layer(self, size: int, states: int) -> MaskLayer:
        return IBALayer(size, states, self.width, seed=self.seed)

    def of(self, layer: MaskLayer, classifier: Classifier, examples: Sequence[Example]) -> IBATraining:
        network = layer.network
        assert isinstance(layer, IBALayer)
        assert isinstance(network, Bottleneck)
        with torch.no_grad(), classifier.evaluating():
            states = [_words_of(classifier, [example]) for example in examples[:_LOOKED_AT]]
        every = torch.cat(states)  # [N, d]
        network.mean.copy_(every.mean(0))
        network.spread.copy_(every.std(0, correction=0).clamp(min=_LEAST_SPREAD))
        return IBATraining(self, layer)


def _words_of(classifier: Classifier, examples: Sequence[Example]) -> Tensor:
    """What enters the first layer at the words of some examples, [N, d]."""
    batch = classifier.encode(examples)
    shown = classifier.run(batch.rows, hidden=True).hidden
    assert shown is not None
    return shown[0][:, : batch.rows.unit_of.shape[1]][batch.rows.unit_of >= 0].float().cpu()


@dataclass(frozen=True)
class IBATraining(MaskTraining):
    """The objective with the bottleneck that is trained."""

    settings: IBA
    layer: IBALayer

    def __call__(self, case: Case) -> dict[str, Tensor]:
        rows, told = case.batch.rows, list[Tensor]()

        def enter(states: Tensor) -> Tensor:
            kept = self.layer.logits([states] * self.layer.states).sigmoid()  # [R, T]
            told.append(information(kept, self.layer.standard(states)).mean(-1))
            return self._blended(rows, states, kept, torch.randn_like(states))

        front = case.run(rows, enter=enter)
        spent = mean_of_words(case, told[0], self.words(rows, told[0].shape[1]))
        terms = {**self.whole(case), "masked": self.loss(case, front)}
        return {**terms, "information": self.settings.information * spent}

    def tested(self, rows: Rows, hidden: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
        """The mean takes the place of noise."""
        kept = self.layer.logits(hidden).sigmoid()
        return lambda states: self._blended(rows, states, kept, torch.zeros_like(states))

    def _blended(self, rows: Rows, states: Tensor, kept: Tensor, noise: Tensor) -> Tensor:
        """Words [R, T, d] of which a share [R, T] is kept; `noise` is in standard deviations from the mean."""
        network = self.layer.network
        assert isinstance(network, Bottleneck)
        other = network.mean.to(states) + network.spread.to(states) * noise
        words = self.words(rows, states.shape[1]).to(states.device)
        share = kept.masked_fill(~words, 1.0)[..., None]
        return (share * states + (1 - share) * other).to(states)
