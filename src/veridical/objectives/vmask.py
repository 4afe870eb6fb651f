"""VMASK: a network over word vectors learns, with the model, which words to mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from veridical.core.component import Presets, Weight, option
from veridical.core.values import Example
from veridical.explainers.mask_layers import MaskLayer, VMaskLayer
from veridical.masking import Case
from veridical.models import Ability, Classifier
from veridical.models.transformer import Transformer
from veridical.objectives.mask_layers import DrawnMask, MaskTraining, mean_of_words, negative_entropy, require_finished


@dataclass(frozen=True)
class VMask(DrawnMask):
    """Learns from texts of which a network over word vectors has masked words (Chen and Ji 2020).

    The loss is the plain one of the masked text, and the negative entropy of the mask, whose weight falls: at first all
    words should be as likely to stay as to go. One pass of the model in each step. It leaves the explainer `vmask`.

    The preset `ref_code` does what the published code does to a model that was trained before: embeddings stay as they
    are, special tokens may be masked, and the best model is the one that is best with its mask. The rest of that code
    is no part of a loss and has to be given by hand: `veridical train --model runs/base --clip 10 --warmup 0
    --weight-decay 0 --batch-size 8`. `e-varm` reads the hidden states of all layers and adds a contrastive loss.
    """

    entropy: Weight = option(1.0, "The weight of the negative entropy of the mask, when training begins.")
    every_layer: bool = option(False, "Read the hidden states of all layers; takes another pass of the model.")
    contrast: Weight = option(0.0, "The weight of a contrastive loss of texts and masked texts, as SCC has.")
    freeze: bool = option(
        False, "Leave the embeddings of a model that was trained before as they are, as the published code does."
    )
    name: ClassVar[str] = "vmask"
    presets: ClassVar[Presets] = {
        "ref_code": {"freeze": True, "special": True, "best_masked": True},
        "e-varm": {"every_layer": True, "contrast": 0.1},
    }

    @property
    def needs(self) -> frozenset[Ability]:
        return super().needs | ({Ability.POOLED} if self.contrast else set())

    @property
    def reads_output(self) -> bool:
        return bool(self.every_layer or self.contrast or self.ce_full)

    def layer(self, size: int, states: int) -> MaskLayer:
        return VMaskLayer(size, states, self.width, seed=self.seed, every_layer=self.every_layer)

    def with_layer(self, layer: MaskLayer) -> VMaskTraining:
        return VMaskTraining(self, layer)

    def of(self, layer: MaskLayer, classifier: Classifier, examples: Sequence[Example]) -> VMaskTraining:
        if not self.freeze:
            return self.with_layer(layer)
        # Embeddings of a new model are random, and would stay so.
        finished = require_finished(classifier, "vmask(freeze=true)", "leaves the embeddings as they are, of")
        return replace(self.with_layer(layer), frozen=making_embeddings(finished, examples))


def making_embeddings(classifier: Classifier, examples: Sequence[Example]) -> frozenset[str]:
    """The weights of a model, by name, that make what enters its first layer: those that it has a gradient by."""
    assert isinstance(classifier, Transformer)
    named = {name: values for name, values in classifier.model.named_parameters() if values.requires_grad}
    hidden = classifier.forward(classifier.encode(examples[:1]), hidden=True).hidden
    assert hidden is not None
    found = torch.autograd.grad(hidden[0].sum(), list(named.values()), allow_unused=True)
    return frozenset(name for name, gradient in zip(named, found, strict=True) if gradient is not None)


@dataclass(frozen=True)
class VMaskTraining(MaskTraining):
    """The objective with the network that is trained."""

    settings: VMask
    frozen: frozenset[str] = frozenset()

    def __call__(self, case: Case) -> dict[str, Tensor]:
        asked, rows, seen = self.settings, case.batch.rows, list[Tensor]()

        def enter(states: Tensor) -> Tensor:
            hidden = case.output.hidden if asked.every_layer else [states] * self.layer.states
            logits = self.layer.logits(hidden or [])  # [R, T]
            seen.append(logits)
            return self.masked(asked.draw(logits), self.words(rows, logits.shape[1]))(states)

        front = case.run(rows, enter=enter, pooled=bool(asked.contrast))
        entropy = mean_of_words(case, negative_entropy(seen[0]), self.words(rows, seen[0].shape[1]))
        terms = {**self.whole(case), "masked": self.loss(case, front)}
        if asked.entropy:
            terms["entropy"] = asked.entropy * self.clock.weight(asked.anneal) * entropy
        if asked.contrast:
            terms["contrast"] = asked.contrast * self.contrasted(case, [case.output, front])
        return terms
